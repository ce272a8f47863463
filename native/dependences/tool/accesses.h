// SPDX-License-Identifier: GPL-2.0-or-later
// The loads and stores among an instruction's statements.
#ifndef WHYPERF_DEPENDENCES_ACCESSES_H
#define WHYPERF_DEPENDENCES_ACCESSES_H

#include "sites.h"

#define OPERATIONS_MOST 40

typedef struct {
    Access access;
    IRExpr *address;
    IRExpr *guard; // NULL: always
    Int statement;
} Operation;

typedef struct {
    UInt count;
    Operation operations[OPERATIONS_MOST];
} Operations;

// Of statements [first, end) of the block.
Operations operations_of(const IRSB *block, Int first, Int end);

#endif
