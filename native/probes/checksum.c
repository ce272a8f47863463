#include "probes/checksum.h"

// Four bytes a step: a plan of a large program has tens of megabytes, and is checked while the program waits to start.
enum { STEP = 4, BYTES = 256 };

static const uint32_t reversed_polynomial = 0xedb88320;

static void fill(uint32_t table[STEP][BYTES]) {
    for (uint32_t byte = 0; byte < BYTES; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? reversed_polynomial : 0);
        table[0][byte] = value;
    }
    for (int step = 1; step < STEP; step++)
        for (uint32_t byte = 0; byte < BYTES; byte++)
            table[step][byte] = table[step - 1][byte] >> 8 ^ table[0][table[step - 1][byte] & 0xff];
}

uint32_t checksum(const void *bytes, size_t size) {
    uint32_t table[STEP][BYTES];
    fill(table);
    const uint8_t *at = bytes, *end = at + size;
    uint32_t value = ~0u;
    for (; end - at >= STEP; at += STEP)
        value = table[3][(value ^ at[0]) & 0xff] ^ table[2][(value >> 8 ^ at[1]) & 0xff] ^
                table[1][(value >> 16 ^ at[2]) & 0xff] ^ table[0][(value >> 24 ^ at[3]) & 0xff];
    for (; at < end; at++)
        value = value >> 8 ^ table[0][(value ^ *at) & 0xff];
    return ~value;
}
