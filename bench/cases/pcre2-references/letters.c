// Letters are checked against the templates that they were made from: a long text first, then a table whose cells are
// all put in the kind of quotes that the first of them has.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 220, LONGEST = 64, READERS = 6 };

static char *added(char *end, const char *words) {
    const size_t length = strlen(words);
    memcpy(end, words, length + 1);
    return end + length;
}

// As a template, or as a letter with quotes of one kind.
static void write_letter(char *end, unsigned number, unsigned cells, char quote) {
    char words[LONGEST];
    for (unsigned i = 0; i < TEXT; i++) {
        snprintf(words, sizeof words, "clause %u ", i * 31 + number % 97);
        end = added(end, words);
    }
    for (unsigned i = 0; i < cells; i++) {
        if (quote) {
            snprintf(words, sizeof words, "cell%u=%cvalue %u%c; ", i, quote, number + i, quote);
        } else {
            snprintf(words, sizeof words, i == 0 ? "cell%u=([\"'])[a-z]+ \\d+\\1; " : "cell%u=\\1[a-z]+ \\d+\\1; ", i);
        }
        end = added(end, words);
    }
}

static unsigned matched(const pcre2_code *code, char *letter, unsigned number, unsigned cells) {
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, NULL);
    unsigned found = 0;
    for (unsigned reader = 0; reader < READERS; reader++) {
        write_letter(letter, number, cells, reader % 2 ? '"' : '\'');
        found += pcre2_match(code, (PCRE2_SPTR)letter, strlen(letter), 0, 0, match, NULL) == 2;
    }
    pcre2_match_data_free(match);
    return found;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: letters TEMPLATES CELLS\n");
        return 2;
    }
    const unsigned templates = (unsigned)atoi(argv[1]), cells = (unsigned)atoi(argv[2]);
    char *letter = malloc((size_t)(TEXT + cells) * LONGEST);
    unsigned found = 0;
    for (unsigned number = 0; letter && number < templates; number++) {
        int error = 0;
        size_t at = 0;
        write_letter(letter, number, cells, 0);
        pcre2_code *code = pcre2_compile((PCRE2_SPTR)letter, PCRE2_ZERO_TERMINATED, 0, &error, &at, NULL);
        if (!code) {
            fprintf(stderr, "letters: the template is not understood at %zu\n", at);
            return 1;
        }
        found += matched(code, letter, number, cells);
        pcre2_code_free(code);
    }
    free(letter);
    printf("%u letters are as they should be\n", found);
    return found == READERS * templates ? 0 : 1;
}
