#include "digest.h"

#include <stdbool.h>
#include <string.h>

static uint32_t crc_table[256];

__attribute__((constructor)) static void make_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) {
            value = value & 1 ? 0xedb88320u ^ (value >> 1) : value >> 1;
        }
        crc_table[i] = value;
    }
}

uint32_t crc_of(const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc = crc_table[(crc ^ at[i]) & 0xff] ^ (crc >> 8);
    }
    return ~crc;
}

uint32_t adler_of(const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    uint32_t low = 1, high = 0;
    while (size) {
        size_t part = size < 5552 ? size : 5552;
        for (size_t i = 0; i < part; i++) {
            low += at[i];
            high += low;
        }
        low %= 65521;
        high %= 65521;
        at += part;
        size -= part;
    }
    return high << 16 | low;
}

uint64_t mix_of(const void *bytes, size_t size, uint64_t seed) {
    const unsigned char *at = bytes;
    uint64_t mixed = seed ^ (size * 0x9e3779b97f4a7c15u);
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        mixed = (mixed ^ word) * 0xff51afd7ed558ccdu;
        mixed ^= mixed >> 32;
    }
    for (; size; size--, at++) {
        mixed = (mixed ^ *at) * 0xc4ceb9fe1a85ec53u;
    }
    return mixed ^ mixed >> 29;
}
