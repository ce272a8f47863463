// SPDX-License-Identifier: GPL-2.0-or-later
// Where the guest's registers are, as parts and as cells of the shadow registers.
#ifndef WHYPERF_DEPENDENCES_REGISTERS_H
#define WHYPERF_DEPENDENCES_REGISTERS_H

#include "parts.h"
#include "sites.h"

// The first part of the register at this offset of the guest state, how many of its parts the type covers and how;
// count 0: no register whose values are followed.
typedef struct {
    UInt first, count;
    Layout layout;
} Place;

Place place_of(Int offset, IRType type);

// The cells that a part stands for.
Run cells_of(UInt part);

// Does it save a register of its function's caller on the stack, or restore one?
Bool site_saves_registers(const Site *site);

// The machine's way to call functions, as far as Valgrind's intermediate form depends on it.
const VexAbiInfo *abi_of_guest(void);

// A few instructions of which inputs_of must know what they read and write.
Bool lifts_as_expected(const VexArchInfo *processor);

#endif
