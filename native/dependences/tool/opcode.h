// SPDX-License-Identifier: GPL-2.0-or-later
// What an instruction's opcode alone says: is it a copy, a call, a jump; which flags it reads and writes. Valgrind's
// intermediate form has lost this: it keeps the flags as one thunk.
#ifndef WHYPERF_DEPENDENCES_OPCODE_H
#define WHYPERF_DEPENDENCES_OPCODE_H

#include "valgrind.h"

enum { FLAG_C = 1, FLAG_P = 2, FLAG_A = 4, FLAG_Z = 8, FLAG_S = 16, FLAG_O = 32, FLAGS_ALL = 63 };

// A run of cells of the shadow registers.
typedef struct {
    UShort first;
    UShort count;
} Run;

typedef struct {
    UShort site_flags; // SITE_COPY, _CALL, _RETURN, _CONDITIONAL, _INDIRECT
    UChar flags_read;
    UChar flags_written; // if it writes any: Valgrind's form tells that
    Bool moves_bytes;    // a copy that keeps the order of its bytes
    Bool extends_sign;   // a copy whose upper bytes come from its source's last byte
    // arm64: the registers that a load or store moves as they are, in the order of its accesses; count 0: zeros.
    UChar moved_count;
    Run moved[2];
} Opcode;

Opcode opcode_read(const UChar *bytes);

#endif
