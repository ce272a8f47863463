// Instructions of aarch64: words of four bytes.
#ifndef WHYPERF_PROBES_AARCH64_WORDS_H
#define WHYPERF_PROBES_AARCH64_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WORD_BYTES = 4, WORD_PAGE_BITS = 12 };

static inline uint32_t word_read(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline void word_write(uint8_t *at, uint32_t word) {
    memcpy(at, &word, sizeof word);
}

// Jumps and calls by a distance.
enum { WORD_JUMP = 0x14000000u, JUMP_BITS = 26 };
static const uint32_t word_call = 0x94000000u;

static inline bool word_is_jump(uint32_t word) {
    return (word & 0xfc000000u) == WORD_JUMP;
}

static inline bool word_is_call(uint32_t word) {
    return (word & 0xfc000000u) == word_call;
}

static inline bool word_is_call_by_register(uint32_t word) {
    return (word & 0xfffffc1fu) == 0xd63f0000u;
}

static inline bool fits(int64_t value, int bits) {
    int64_t end = (int64_t)1 << (bits - 1);
    return value >= -end && value < end;
}

static inline int64_t signed_bits(uint32_t value, int bits) {
    return (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
}

static inline int64_t word_distance(uint32_t jump) {
    return signed_bits(jump, JUMP_BITS) * WORD_BYTES;
}

static inline bool word_set_distance(uint32_t *jump, int64_t distance) {
    int64_t words = distance / WORD_BYTES;
    *jump = (*jump & 0xfc000000u) | ((uint32_t)words & 0x3ffffffu);
    return distance % WORD_BYTES == 0 && fits(words, JUMP_BITS);
}

// Jumps on a condition, on a register's being zero, and on one of its bits: with a distance from bit 5 on.
enum { CONDITION_DISTANCE_BITS = 19, TEST_DISTANCE_BITS = 14, CONDITION_DISTANCE_AT = 5 };
static const uint32_t word_no_operation = 0xd503201fu;

static inline bool word_is_conditional(uint32_t word) {
    return (word & 0xff000000u) == 0x54000000u || (word & 0x7c000000u) == 0x34000000u;
}

static inline int64_t word_conditional_distance(uint32_t word) {
    bool tests_bit = (word & 0x7e000000u) == 0x36000000u;
    return signed_bits(word >> CONDITION_DISTANCE_AT, tests_bit ? TEST_DISTANCE_BITS : CONDITION_DISTANCE_BITS) *
           WORD_BYTES;
}

// Which the program's own code is not likely to hold: brk 0x575.
static const uint32_t word_trap = 0xd4200000u | 0x575u << 5;

// The address of a page: adrp.
enum { PAGE_DISTANCE_BITS = 21 };
static const uint32_t word_page = 0x90000000u;

static inline bool word_is_page(uint32_t word) {
    return (word & 0x9f000000u) == word_page;
}

static inline int64_t word_pages(uint32_t word) {
    return signed_bits((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), PAGE_DISTANCE_BITS);
}

static inline bool word_set_pages(uint32_t *word, int64_t pages) {
    uint32_t low = (uint32_t)pages & 3, high = (uint32_t)(pages >> 2) & 0x7ffff;
    *word = (*word & 0x9f00001fu) | low << 29 | high << 5;
    return fits(pages, PAGE_DISTANCE_BITS);
}

#endif
