// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcode.h"

#include "../stream.h"
#include "shadow.h"

#define ZERO_REGISTER 31

static UInt bits(UInt instruction, UInt low, UInt count) {
    return (instruction >> low) & ((1u << count) - 1);
}

static UChar condition_reads(UInt condition) {
    static const UChar reads[8] = {
        FLAG_Z, FLAG_C, FLAG_S, FLAG_O, FLAG_C | FLAG_Z, FLAG_S | FLAG_O, FLAG_Z | FLAG_S | FLAG_O, 0,
    };
    return reads[condition >> 1];
}

static Bool is_conditional_branch_by_flags(UInt i) {
    return (i & 0xFF000010) == 0x54000000;
}

static Bool is_conditional_branch_by_register(UInt i) {
    return (i & 0x7C000000) == 0x34000000; // cbz, cbnz, tbz, tbnz
}

static UChar flags_read(UInt i) {
    if (is_conditional_branch_by_flags(i))
        return condition_reads(bits(i, 0, 4));
    UInt group = i & 0x1FE00000;
    Bool selects = group == 0x1A800000, compares = group == 0x1A400000;               // csel and its kin, ccmp
    Bool floating = (i & 0xFF200C00) == 0x1E200C00 || (i & 0xFF200C00) == 0x1E200400; // fcsel, fccmp
    if (selects || compares || floating)
        return condition_reads(bits(i, 12, 4));
    if (group == 0x1A000000) // adc, sbc
        return FLAG_C;
    if ((i & 0xFFFFFFE0) == 0xD53B4200) // mrs nzcv
        return FLAGS_ALL;
    return 0;
}

static UShort transfers(UInt i) {
    if (is_conditional_branch_by_flags(i) || is_conditional_branch_by_register(i))
        return SITE_CONDITIONAL;
    if ((i & 0xFC000000) == 0x94000000)
        return SITE_CALL;
    switch (i & 0xFFFFFC1F) {
    case 0xD63F0000:
        return SITE_CALL | SITE_INDIRECT;
    case 0xD61F0000:
        return SITE_INDIRECT;
    case 0xD65F0000:
        return SITE_RETURN;
    default:
        return 0;
    }
}

static Bool is_move_between_registers(UInt i) {
    return (i & 0x7FE0FFE0) == 0x2A0003E0 ||                                    // mov x, x
           (i & 0xFF3FFC00) == 0x1E204000 ||                                    // fmov d, d
           ((i & 0xBFE0FC00) == 0x0EA01C00 && bits(i, 5, 5) == bits(i, 16, 5)); // mov v, v
}

static Bool is_move_with_stack_pointer(UInt i) {
    return (i & 0x7FFFFC00) == 0x11000000 && (bits(i, 0, 5) == 31 || bits(i, 5, 5) == 31);
}

static Bool is_move_of_constant(UInt i) {
    return ((i & 0x1F800000) == 0x12800000 && bits(i, 29, 2) != 3) || // movn, movz
           (i & 0x7F8003E0) == 0x320003E0 ||                          // mov x, #mask
           (i & 0xFF201FE0) == 0x1E201000;                            // fmov d, #value
}

static Bool extends_register(UInt i) {
    UInt last = bits(i, 10, 6);
    return ((i & 0x7F800000) == 0x13000000 || (i & 0x7F800000) == 0x53000000) && bits(i, 16, 6) == 0 &&
           (last == 7 || last == 15 || last == 31);
}

static Bool is_move_between_kinds(UInt i) {
    return (i & 0x7F3EFC00) == 0x1E260000; // fmov x, d and back
}

static Bool selects_one(UInt i) {
    return (i & 0x7FE00C00) == 0x1A800000 || (i & 0xFF200C00) == 0x1E200C00; // csel, fcsel
}

// A load or store of registers as they are; bytes 0: it is none.
typedef struct {
    UInt bytes; // of each register
    UInt registers;
    Bool vector, extends_sign;
} Transfer;

static Transfer transfer_of_pair(UInt i) {
    UInt size = bits(i, 30, 2);
    Bool vector = bits(i, 26, 1), load = bits(i, 22, 1);
    if (size == 3 || (!vector && size == 1 && !load))
        return (Transfer){0};
    return (Transfer){vector ? 4u << size : size == 2 ? 8 : 4, 2, vector, !vector && size == 1};
}

static Transfer transfer_of_literal(UInt i) {
    UInt size = bits(i, 30, 2);
    Bool vector = bits(i, 26, 1);
    if (size == 3)
        return (Transfer){0};
    return (Transfer){vector ? 4u << size : size == 1 ? 8 : 4, 1, vector, !vector && size == 2};
}

static Transfer transfer_of_one(UInt i) {
    UInt size = bits(i, 30, 2), kind = bits(i, 22, 2);
    Bool scaled = bits(i, 24, 1), by_register = bits(i, 21, 1), vector = bits(i, 26, 1);
    if (!scaled && by_register && bits(i, 10, 2) != 2)
        return (Transfer){0}; // atomic ones
    if (vector)
        return (Transfer){kind >= 2 ? 16 : 1u << size, 1, True, False};
    if (size == 3 && kind == 2)
        return (Transfer){0}; // prefetches
    return (Transfer){1u << size, 1, False, kind >= 2};
}

static Transfer transfer(UInt i) {
    if ((i & 0x3A000000) == 0x28000000)
        return transfer_of_pair(i);
    if ((i & 0x3B000000) == 0x18000000)
        return transfer_of_literal(i);
    if ((i & 0x3A000000) == 0x38000000)
        return transfer_of_one(i);
    if ((i & 0x3FFFFC00) == 0x08DFFC00 || (i & 0x3FFFFC00) == 0x089FFC00) // ldar, stlr
        return (Transfer){1u << bits(i, 30, 2), 1, False, False};
    return (Transfer){0};
}

static Run cells_moved(const Transfer *transfer, UInt number) {
    if (transfer->vector)
        return (Run){(UShort)(CELL_VECTOR + number * CELLS_OF_REGISTER), 4};
    return (Run){(UShort)(CELL_GENERAL + number * CELLS_OF_REGISTER), number == ZERO_REGISTER ? 0 : CELLS_OF_REGISTER};
}

Opcode opcode_read(const UChar *bytes) {
    UInt i = *(const UInt *)bytes;
    Transfer moved = transfer(i);
    Bool between = is_move_between_registers(i);
    Bool copy = moved.bytes || between || is_move_with_stack_pointer(i) || is_move_of_constant(i) ||
                extends_register(i) || is_move_between_kinds(i) || selects_one(i);
    // Cells of vector registers are four bytes: less cannot be followed by itself.
    Bool by_cells = moved.bytes && !(moved.vector && moved.bytes < 4);
    Opcode opcode = {
        .site_flags = transfers(i) | (copy ? SITE_COPY : 0),
        .flags_read = flags_read(i),
        .flags_written = FLAGS_ALL,
        .moves_bytes = by_cells || between,
        .extends_sign = moved.extends_sign,
        .moved_count = by_cells ? (UChar)moved.registers : 0,
    };
    for (UInt at = 0; at < opcode.moved_count; at++)
        opcode.moved[at] = cells_moved(&moved, bits(i, at ? 10 : 0, 5));
    return opcode;
}
