// SPDX-License-Identifier: GPL-2.0-or-later
// The instructions that were met, each with what is known of it for good.
#ifndef WHYPERF_DEPENDENCES_SITES_H
#define WHYPERF_DEPENDENCES_SITES_H

#include "inputs.h"
#include "modules.h"
#include "pub_tool_hashtable.h"

enum { ACCESS_LOAD = 1, ACCESS_STORE = 2 };

typedef struct {
    UChar kind;
    UShort size;
} Access;

typedef struct Site {
    struct Site *next; // as Valgrind's hash tables want it
    UWord address;     // run-time
    UInt number;
    UInt fingerprint; // of its bytes: code may be replaced
    Mode mode;
    Bool mark, writes_registers;
    Bool of_plan;             // its module is listed, and it does not only lead to another one
    const PlanReader *reader; // NULL: the plan does not ask who wrote what it loads
    Bool known_accesses;
    Access accesses[2];           // the last two of the instruction's
    const PlanFunction *function; // NULL: unlisted
    Bool is_entry;
    Inputs inputs;
} Site;

// Writes a SITE record when the instruction is met for the first time.
Site *site_at(Addr address, UInt length, const VexArchInfo *processor);

static inline Bool site_is_listed(const Site *site) {
    return site->mode != MODE_UNLISTED;
}

static inline Bool site_passes(const Site *site) {
    return site->mode == MODE_PASS || (site->mode == MODE_UNLISTED && plan.pass_outside);
}

#endif
