// Lines as words, words as numbers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MOST_WORDS = 16 };

struct words {
    char *word[MOST_WORDS];
    int count;
};

const char *line_end(const char *text, const char *end);
bool split_words(const char *line, size_t size, struct arena *arena, struct words *words); // false: a quote is open
int compare_caseless(const char *left, const char *right);
bool read_number(const char *word, uint64_t *number);
bool read_duration_ms(const char *word, uint64_t *milliseconds); // 250ms, 30s, 5m

#ifdef __cplusplus
}
#endif
