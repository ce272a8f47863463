#include "words.h"

#include <ctype.h>
#include <string.h>

const char *line_end(const char *text, const char *end) {
    while (text < end && *text != '\n') {
        text++;
    }
    return text;
}

static const char *word_end(const char *at, const char *end, char quote) {
    while (at < end && (quote ? *at != quote : !isspace((unsigned char)*at))) {
        at++;
    }
    return at;
}

bool split_words(const char *line, size_t size, struct arena *arena, struct words *words) {
    const char *at = line, *end = line + size;
    words->count = 0;
    while (words->count < MOST_WORDS) {
        while (at < end && isspace((unsigned char)*at)) {
            at++;
        }
        if (at == end || *at == '#') {
            break;
        }
        char quote = *at == '"' || *at == '\'' ? *at++ : 0;
        const char *stop = word_end(at, end, quote);
        if (quote && stop == end) {
            return false;
        }
        words->word[words->count++] = arena_copy(arena, at, (size_t)(stop - at));
        at = stop + (quote != 0);
    }
    return true;
}

int compare_caseless(const char *left, const char *right) {
    for (;; left++, right++) {
        int difference = tolower((unsigned char)*left) - tolower((unsigned char)*right);
        if (difference || !*left) {
            return difference;
        }
    }
}

bool read_number(const char *word, uint64_t *number) {
    *number = 0;
    if (!*word) {
        return false;
    }
    for (; *word; word++) {
        if (!isdigit((unsigned char)*word)) {
            return false;
        }
        *number = *number * 10 + (uint64_t)(*word - '0');
    }
    return true;
}

bool read_duration_ms(const char *word, uint64_t *milliseconds) {
    static const struct {
        const char *name;
        uint64_t milliseconds;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}};
    size_t digits = strspn(word, "0123456789");
    char number[24];
    if (digits >= sizeof number) {
        return false;
    }
    memcpy(number, word, digits);
    number[digits] = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(word + digits, units[i].name) == 0 && read_number(number, milliseconds)) {
            *milliseconds *= units[i].milliseconds;
            return true;
        }
    }
    return false;
}
