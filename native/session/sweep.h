// Columns of events too many for anything but one pass.
#ifndef WHYPERF_SESSION_SWEEP_H
#define WHYPERF_SESSION_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Equal keys get the same number, in the order of first appearance.
struct distinct {
    uint64_t *keys;   // by number
    int64_t *firsts;  // by number: where it appeared first
    int32_t *numbers; // hash table: number + 1
    size_t count, capacity;
};

bool distinct_add(struct distinct *distinct, const uint64_t *keys, size_t count, int32_t *numbers);
void distinct_release(struct distinct *distinct);

// A key's value changes at moments; both events and changes are in the order of their times.
struct changes {
    const int64_t *time;
    const int32_t *key, *value;
    size_t count;
};

// `current` has a value for each of the keys, as of before the first change.
bool sweep(const struct changes *changes, int32_t *current, size_t keys, const int64_t *time, const int32_t *key,
           size_t events, int32_t *values);

#endif
