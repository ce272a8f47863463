// Looks for a dash that stands before a number in a text that is not English.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

static const char *WORDS[] = {"\u0432\u0440\u0435\u043c\u044f",
                              "\u0433\u043e\u0434",
                              "\u0447\u0435\u043b\u043e\u0432\u0435\u043a",
                              "\u0434\u0435\u043b\u043e",
                              "\u0438",
                              "\u0440\u0443\u043a\u0430",
                              "\u2014",
                              "\u0441\u043b\u043e\u0432\u043e"};

static size_t write_text(char *text, unsigned words) {
    unsigned state = 1;
    char *at = text;
    for (unsigned k = 0; k < words; k++) {
        state = state * 1664525u + 1013904223u;
        unsigned chosen = (state >> 16) % 64;
        at += sprintf(at, "%s ", WORDS[chosen % 8 == 6 && chosen != 6 ? 0 : chosen % 8]);
        if (chosen == 6 && k % 16 == 0) {
            at += sprintf(at, "%u ", k);
        }
    }
    return (size_t)(at - text);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: dashes WORDS TIMES\n");
        return 2;
    }
    const unsigned words = (unsigned)atoi(argv[1]);
    char *text = malloc((size_t)words * 40);
    const size_t length = write_text(text, words);
    int error;
    PCRE2_SIZE place;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR) "[\u2012-\u2015] ?([0-9]+)", PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &place, NULL);
    if (!code) {
        fprintf(stderr, "dashes: error %d at %zu\n", error, place);
        return 1;
    }
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, NULL);
    unsigned found = 0;
    for (int times = atoi(argv[2]); times > 0; times--) {
        PCRE2_SIZE from = 0;
        while (pcre2_match(code, (PCRE2_SPTR)text, length, from, PCRE2_NO_UTF_CHECK, match, NULL) > 0) {
            from = pcre2_get_ovector_pointer(match)[1];
            found++;
        }
    }
    printf("%u found\n", found);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
    free(text);
    return 0;
}
