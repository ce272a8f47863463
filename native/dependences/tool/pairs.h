// SPDX-License-Identifier: GPL-2.0-or-later
// How often which site read what which site wrote.
#ifndef WHYPERF_DEPENDENCES_PAIRS_H
#define WHYPERF_DEPENDENCES_PAIRS_H

#include "valgrind.h"

void pairs_count(UInt reader, UInt writer);
void pairs_write(void);

#endif
