#include "ledger.h"

static uint32_t table[256];

uint32_t next_random(uint32_t *state) {
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

static void fill_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t remainder = i;
        for (int bit = 0; bit < 8; bit++) {
            remainder = remainder & 1 ? (remainder >> 1) ^ 0x82f63b78u : remainder >> 1;
        }
        table[i] = remainder;
    }
}

uint32_t checksum(const void *bytes, size_t size, uint32_t seed) {
    if (!table[1]) {
        fill_table();
    }
    const unsigned char *at = bytes;
    uint32_t sum = ~seed;
    for (size_t i = 0; i < size; i++) {
        sum = table[(sum ^ at[i]) & 255] ^ (sum >> 8);
    }
    return ~sum;
}

uint64_t hash_bytes(const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ at[i]) * 1099511628211ull;
    }
    return hash ^ (hash >> 29);
}
