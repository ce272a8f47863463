// SPDX-License-Identifier: GPL-2.0-or-later
// Which registers an instruction reads as values, reads as addresses, and writes.
//
// Valgrind removes redundant register reads before a tool sees a block, so each instruction is lifted again by itself
// and its intermediate form is interpreted symbolically: every temporary holds the set of register parts it was made
// of.
#ifndef WHYPERF_DEPENDENCES_INPUTS_H
#define WHYPERF_DEPENDENCES_INPUTS_H

#include "opcode.h"

#define RUNS_MOST 40

typedef struct {
    Opcode opcode;
    UChar length;
    Bool x87, helper;
    UChar values, addresses, writes; // how many runs of each
    Run runs[RUNS_MOST];             // values, then addresses, then writes
} Inputs;

Inputs inputs_of(Addr address, const VexArchInfo *processor);

#endif
