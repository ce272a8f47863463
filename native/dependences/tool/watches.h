// SPDX-License-Identifier: GPL-2.0-or-later
// Variables whose every update is written down.
#ifndef WHYPERF_DEPENDENCES_WATCHES_H
#define WHYPERF_DEPENDENCES_WATCHES_H

#include "modules.h"

// All watched bytes lie in [low, low + span): instrumented code asks this first.
extern Addr watches_low, watches_span;

void watches_place(const Module *module);
// After a store that may have hit a watched variable.
VG_REGPARM(3) void watches_check(Addr address, UWord size, UWord site);

#endif
