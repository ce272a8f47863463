// SPDX-License-Identifier: GPL-2.0-or-later
// The distinct writers of what an instruction reads.
#ifndef WHYPERF_DEPENDENCES_PRODUCERS_H
#define WHYPERF_DEPENDENCES_PRODUCERS_H

#include "inexact.h"
#include "inputs.h"
#include "shadow.h"

#define PRODUCERS_MOST 60

typedef struct {
    UInt count;
    UInt writers[PRODUCERS_MOST];
} Producers;

static inline void producers_add(Producers *producers, UInt writer) {
    if (!writer)
        return;
    for (UInt i = 0; i < producers->count; i++)
        if (producers->writers[i] == writer)
            return;
    if (UNLIKELY(producers->count == PRODUCERS_MOST)) {
        inexact[INEXACT_PRODUCERS]++;
        return;
    }
    producers->writers[producers->count++] = writer;
}

static inline void producers_of_cells(Producers *producers, const UInt *cells, UInt count) {
    // Nearly always one writer wrote them all.
    UInt last = cells[0];
    producers_add(producers, last);
    for (UInt i = 1; i < count; i++)
        if (UNLIKELY(cells[i] != last)) {
            last = cells[i];
            producers_add(producers, last);
        }
}

static inline void producers_of_memory(Producers *producers, Addr address, UInt size) {
    if (LIKELY(shadow_within_page(address, size))) {
        producers_of_cells(producers, shadow_byte(address), size);
        return;
    }
    for (UInt i = 0; i < size; i++)
        producers_add(producers, *shadow_byte(address + i));
}

static inline void producers_of_runs(Producers *producers, const Run *runs, UInt count) {
    for (UInt i = 0; i < count; i++)
        producers_of_cells(producers, shadow_registers + runs[i].first, runs[i].count);
}

#endif
