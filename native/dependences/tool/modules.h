// SPDX-License-Identifier: GPL-2.0-or-later
// Which file an instruction was mapped from, and where that file is.
#ifndef WHYPERF_DEPENDENCES_MODULES_H
#define WHYPERF_DEPENDENCES_MODULES_H

#include "plan.h"

typedef struct {
    UInt number;
    Addr bias; // run-time minus link-time address
    const PlanModule *plan;
} Module;

// Writes a MODULE record when the module is met for the first time. Valid until the next call.
const Module *module_at(Addr address);

#endif
