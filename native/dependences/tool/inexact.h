// SPDX-License-Identifier: GPL-2.0-or-later
// What could not be followed exactly is counted and reported, never hidden.
#ifndef WHYPERF_DEPENDENCES_INEXACT_H
#define WHYPERF_DEPENDENCES_INEXACT_H

#include "../stream.h"
#include "valgrind.h"

extern ULong inexact[INEXACT_COUNT];

#endif
