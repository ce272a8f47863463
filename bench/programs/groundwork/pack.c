#include "pack.h"

#include <stdint.h>
#include <string.h>

enum { HASH_BITS = 12, SHORTEST = 4, LONGEST = 255, LITERALS = 127, FARTHEST = 65535 };

static uint32_t hash_of_four(const unsigned char *at) {
    uint32_t four;
    memcpy(&four, at, sizeof four);
    return four * 2654435761u >> (32 - HASH_BITS);
}

static void flush_literals(struct buffer *packed, const unsigned char *from, size_t count) {
    while (count) {
        unsigned char part = (unsigned char)(count < LITERALS ? count : LITERALS);
        buffer_add(packed, &part, 1);
        buffer_add(packed, from, part);
        from += part;
        count -= part;
    }
}

static size_t match_length(const unsigned char *left, const unsigned char *right, const unsigned char *end) {
    size_t length = 0;
    while (length < LONGEST && right + length < end && left[length] == right[length]) {
        length++;
    }
    return length;
}

void pack(const void *bytes, size_t size, struct buffer *packed) {
    const unsigned char *start = bytes, *at = start, *literals = start, *end = start + size;
    uint32_t seen[1 << HASH_BITS] = {0};
    while (at + SHORTEST < end) {
        uint32_t *slot = &seen[hash_of_four(at)];
        const unsigned char *before = start + *slot;
        *slot = (uint32_t)(at - start);
        size_t distance = (size_t)(at - before);
        size_t length = distance && distance <= FARTHEST ? match_length(before, at, end) : 0;
        if (length < SHORTEST) {
            at++;
            continue;
        }
        flush_literals(packed, literals, (size_t)(at - literals));
        unsigned char copy[4] = {0x80, (unsigned char)length, (unsigned char)(distance >> 8), (unsigned char)distance};
        buffer_add(packed, copy, sizeof copy);
        at += length;
        literals = at;
    }
    flush_literals(packed, literals, (size_t)(end - literals));
}

int unpack(const void *packed, size_t size, struct buffer *bytes) {
    const unsigned char *at = packed, *end = at + size;
    size_t first = bytes->size;
    while (at < end) {
        if (*at != 0x80) {
            size_t count = *at++;
            if (count > (size_t)(end - at)) {
                return -1;
            }
            buffer_add(bytes, at, count);
            at += count;
            continue;
        }
        if (end - at < 4) {
            return -1;
        }
        size_t length = at[1], distance = (size_t)at[2] << 8 | at[3];
        if (!distance || distance > bytes->size - first) {
            return -1;
        }
        buffer_reserve(bytes, length);
        for (size_t i = 0; i < length; i++, bytes->size++) {
            bytes->bytes[bytes->size] = bytes->bytes[bytes->size - distance];
        }
        at += 4;
    }
    return 0;
}
