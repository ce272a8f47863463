// Numbers that look random and are the same in every run.
#pragma once

#include <stdint.h>

static inline uint32_t roll(uint32_t *state) {
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

static inline uint32_t roll_below(uint32_t *state, uint32_t limit) {
    return (uint32_t)(((uint64_t)roll(state) * limit) >> 32);
}
