// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest.h"
#include "registers.h"
#include "shadow.h"

#define UNITS_OF_VECTOR 4

Place place_of(Int offset, IRType type) {
    Int size = type == Ity_I1 ? 1 : sizeofIRType(type);
    // The stack pointer lies behind these: it says where, never what.
    if (offset >= GUEST(X0) && offset < GUEST(X30) + 8)
        return (Place){PART_GENERAL + (UInt)(offset - GUEST(X0)) / 8, 1, LAYOUT_WHOLE};
    if (offset >= GUEST(Q0) && offset < GUEST(Q31) + 16) {
        UInt unit = (UInt)(offset - GUEST(Q0)) / 4;
        return (Place){PART_VECTOR + unit, size < 4 ? 1 : (UInt)size / 4, LAYOUT_DWORDS};
    }
    return (Place){0};
}

Run cells_of(UInt part) {
    if (part < PART_VECTOR)
        return (Run){(UShort)(CELL_GENERAL + (part - PART_GENERAL) * CELLS_OF_REGISTER), CELLS_OF_REGISTER};
    UInt unit = part - PART_VECTOR;
    return (Run){(UShort)(CELL_VECTOR + unit / UNITS_OF_VECTOR * CELLS_OF_REGISTER + unit % UNITS_OF_VECTOR), 1};
}

// Loads and stores on the stack of registers that a callee must keep.
Bool site_saves_registers(const Site *site) {
    const Opcode *opcode = &site->inputs.opcode;
    if (!opcode->moved_count || site->inputs.addresses)
        return False;
    for (UInt i = 0; i < opcode->moved_count; i++) {
        UInt first = opcode->moved[i].first;
        Bool general = first >= CELL_GENERAL + 19 * CELLS_OF_REGISTER && first < CELL_VECTOR;
        Bool vector = first >= CELL_VECTOR + 8 * CELLS_OF_REGISTER && first < CELL_VECTOR + 16 * CELLS_OF_REGISTER;
        if (!opcode->moved[i].count || !(general || vector) || site->accesses[i].size < 8)
            return False;
    }
    return True;
}

const VexAbiInfo *abi_of_guest(void) {
    static VexAbiInfo abi;
    LibVEX_default_VexAbiInfo(&abi);
    return &abi;
}

Bool lifts_as_expected(const VexArchInfo *processor) {
    // adds x3, x1, x2; str x3, [x0]
    static const UInt adds[] = {0xAB020023, 0xD503201F, 0xD503201F, 0xD503201F, 0xD503201F},
                      str[] = {0xF9000003, 0xD503201F, 0xD503201F, 0xD503201F, 0xD503201F};
    Inputs added = inputs_of((Addr)adds, processor), stored = inputs_of((Addr)str, processor);
    return added.length == 4 && added.values == 2 && added.runs[0].first == CELL_GENERAL + 8 &&
           added.runs[1].first == CELL_GENERAL + 2 * 8 && added.addresses == 0 && added.writes == 2 &&
           added.runs[2].first == CELL_GENERAL + 3 * 8 && added.runs[3].first == CELL_FLAGS && stored.values == 1 &&
           stored.addresses == 1 && stored.runs[1].first == CELL_GENERAL && stored.writes == 0;
}
