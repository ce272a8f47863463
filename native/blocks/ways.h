// Which way a conditional jump goes: native/blocks/MACHINE/ways.c knows its conditions.
#ifndef WHYPERF_BLOCKS_WAYS_H
#define WHYPERF_BLOCKS_WAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "probes/plan.h"

// What is asked of a jump, in its patch instead of a stub: whyperf/debuginfo/probes/blocks.py has the same numbers.
enum ways { WAY_TAKEN = 1, WAY_PASSED = 2 };

struct way {
    bool is_taken;
    uintptr_t next; // where the thread goes on
};

// For a thread that was stopped at this jump. False: it is none.
bool way_of(const struct plan_patch *jump, uintptr_t at, const ucontext_t *context, struct way *way);

#endif
