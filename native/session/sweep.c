#include "session/sweep.h"

#include <stdlib.h>

static size_t hash_key(uint64_t key) {
    key *= 0xff51afd7ed558ccdull;
    return (size_t)(key ^ key >> 32);
}

static int32_t *find_place(const struct distinct *distinct, uint64_t key) {
    size_t mask = distinct->capacity * 2 - 1;
    size_t at = hash_key(key) & mask;
    while (distinct->numbers[at] && distinct->keys[distinct->numbers[at] - 1] != key)
        at = (at + 1) & mask;
    return &distinct->numbers[at];
}

static bool grow(struct distinct *distinct) {
    size_t capacity = distinct->capacity ? distinct->capacity * 2 : 4096;
    if (capacity > INT32_MAX)
        return false;
    int32_t *numbers = calloc(capacity * 2, sizeof *numbers);
    uint64_t *keys = numbers ? realloc(distinct->keys, capacity * sizeof *keys) : NULL;
    if (keys)
        distinct->keys = keys;
    int64_t *firsts = keys ? realloc(distinct->firsts, capacity * sizeof *firsts) : NULL;
    if (firsts)
        distinct->firsts = firsts;
    if (!firsts) {
        free(numbers);
        return false;
    }
    free(distinct->numbers);
    distinct->numbers = numbers;
    distinct->capacity = capacity;
    for (size_t i = 0; i < distinct->count; i++)
        *find_place(distinct, keys[i]) = (int32_t)i + 1;
    return true;
}

bool distinct_add(struct distinct *distinct, const uint64_t *keys, size_t count, int32_t *numbers) {
    for (size_t i = 0; i < count; i++) {
        if (distinct->count == distinct->capacity && !grow(distinct))
            return false;
        int32_t *place = find_place(distinct, keys[i]);
        if (!*place) {
            distinct->keys[distinct->count] = keys[i];
            distinct->firsts[distinct->count] = (int64_t)i;
            *place = (int32_t)++distinct->count;
        }
        numbers[i] = *place - 1;
    }
    return true;
}

void distinct_release(struct distinct *distinct) {
    free(distinct->keys);
    free(distinct->firsts);
    free(distinct->numbers);
}

bool sweep(const struct changes *changes, int32_t *current, size_t keys, const int64_t *time, const int32_t *key,
           size_t events, int32_t *values) {
    for (size_t i = 0; i < changes->count; i++)
        if (changes->key[i] < 0 || (size_t)changes->key[i] >= keys)
            return false;
    size_t change = 0;
    for (size_t i = 0; i < events; i++) {
        for (; change < changes->count && changes->time[change] <= time[i]; change++)
            current[changes->key[change]] = changes->value[change];
        if (key[i] >= 0 && (size_t)key[i] >= keys)
            return false;
        values[i] = key[i] < 0 ? -1 : current[key[i]];
    }
    return true;
}
