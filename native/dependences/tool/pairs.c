// SPDX-License-Identifier: GPL-2.0-or-later
#include "pairs.h"

#include "inexact.h"
#include "output.h"

#define SLOT_BITS 20
#define SLOTS (1u << SLOT_BITS)

typedef struct {
    UInt reader, writer; // 0: empty
    ULong loads;
} Pair;

static Pair *pairs;
static UInt used;

void pairs_count(UInt reader, UInt writer) {
    if (UNLIKELY(!pairs)) {
        pairs = VG_(am_shadow_alloc)(SLOTS * sizeof *pairs);
        if (!pairs)
            VG_(out_of_memory_NORETURN)("whyperf: pairs", SLOTS * sizeof *pairs);
    }
    ULong key = (ULong)reader << 32 | writer;
    UInt at = (UInt)(key * 0x9E3779B97F4A7C15ull >> (64 - SLOT_BITS));
    for (;; at = (at + 1) & (SLOTS - 1)) {
        Pair *pair = &pairs[at];
        if (LIKELY(pair->reader == reader && pair->writer == writer)) {
            pair->loads++;
            return;
        }
        if (pair->reader)
            continue;
        if (used > SLOTS / 4 * 3) {
            inexact[INEXACT_PAIRS]++;
            return;
        }
        used++;
        *pair = (Pair){reader, writer, 1};
        return;
    }
}

void pairs_write(void) {
    for (UInt i = 0; pairs && i < SLOTS; i++) {
        if (!pairs[i].reader)
            continue;
        put_record(RECORD_PAIR);
        put(pairs[i].reader);
        put(pairs[i].writer);
        put(pairs[i].loads);
    }
}
