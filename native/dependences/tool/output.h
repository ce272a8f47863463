// SPDX-License-Identifier: GPL-2.0-or-later
// The stream: varints gathered into checked chunks.
#ifndef WHYPERF_DEPENDENCES_OUTPUT_H
#define WHYPERF_DEPENDENCES_OUTPUT_H

#include "../stream.h"
#include "valgrind.h"

// A record may be this long beyond the place where a chunk is called full.
#define OUTPUT_CHUNK (256 * 1024)
#define OUTPUT_SLACK (16 * 1024)

extern UChar *output_at, *output_full;

void output_open(const HChar *path);
void output_flush(void);
// Nothing is written any more: in a forked child, after the limit, on a full disk.
void output_stop(void);
void output_finish(void);

static inline void put(ULong value) {
    UChar *at = output_at;
    while (value >= 128) {
        *at++ = (UChar)(value | 128);
        value >>= 7;
    }
    *at++ = (UChar)value;
    output_at = at;
}

static inline ULong zigzag(Long value) {
    return ((ULong)value << 1) ^ (ULong)(value >> 63);
}

static inline void put_signed(Long value) {
    put(zigzag(value));
}

static inline void put_record(UInt record) {
    if (UNLIKELY(output_at >= output_full))
        output_flush();
    put((ULong)record << 4 | FORM_OTHER);
}

void put_bytes(const void *bytes, SizeT length);

#endif
