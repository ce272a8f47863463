// SPDX-License-Identifier: GPL-2.0-or-later
#include "../stream.h"
#include "guest.h"
#include "registers.h"
#include "shadow.h"

Place place_of(Int offset, IRType type) {
    Int size = type == Ity_I1 ? 1 : sizeofIRType(type);
    if (offset >= GUEST(RAX) && offset < GUEST(R15) + 8) {
        Int within = (offset - GUEST(RAX)) % 8;
        UInt first = PART_GENERAL + 3 * (UInt)((offset - GUEST(RAX)) / 8);
        // The stack pointer changes with every push and call: it says where, never what.
        if ((offset & ~7) == GUEST(RSP))
            return (Place){0};
        if (within == 1 && size == 1)
            return (Place){first + 1, 1, LAYOUT_BYTES};
        return (Place){first, size == 1 ? 1 : size == 2 ? 2 : 3, LAYOUT_BYTES};
    }
    if (offset >= GUEST(YMM0) && offset < GUEST(YMM16) + 32) {
        UInt dword = (UInt)(offset - GUEST(YMM0)) / 4;
        return (Place){PART_VECTOR + dword, size < 4 ? 1 : (UInt)size / 4, LAYOUT_DWORDS};
    }
    if (offset >= GUEST(FPREG) && offset < GUEST(FPREG) + 64)
        return (Place){PART_X87, 1, LAYOUT_WHOLE};
    return (Place){0};
}

Run cells_of(UInt part) {
    if (part >= PART_VECTOR)
        return (Run){(UShort)(CELL_VECTOR + part - PART_VECTOR), 1};
    if (part == PART_X87)
        return (Run){CELL_X87, 1};
    UInt within = part % 3;
    return (Run){(UShort)(CELL_GENERAL + part / 3 * 8 + within), within == 2 ? 6 : 1};
}

// push and pop of one register.
Bool site_saves_registers(const Site *site) {
    const Access *access = site->accesses;
    return (site->inputs.opcode.site_flags & SITE_COPY) && access[0].size == 8 && !access[1].kind &&
           site->inputs.length <= 2 && !site->inputs.addresses;
}

const VexAbiInfo *abi_of_guest(void) {
    static VexAbiInfo abi;
    LibVEX_default_VexAbiInfo(&abi);
    abi.guest_stack_redzone_size = 128;
    abi.guest_amd64_assume_fs_is_const = True;
    abi.guest_amd64_assume_gs_is_const = True;
    return &abi;
}

Bool lifts_as_expected(const VexArchInfo *processor) {
    static const UChar add_rbx_to_memory_at_rax[] = {0x48, 0x01, 0x58, 0x08, 0x90, 0x90, 0x90, 0x90,
                                                     0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
    Inputs inputs = inputs_of((Addr)add_rbx_to_memory_at_rax, processor);
    return inputs.length == 4 && inputs.values == 1 && inputs.runs[0].first == CELL_GENERAL + 3 * 8 &&
           inputs.addresses == 1 && inputs.runs[1].first == CELL_GENERAL && inputs.writes == 1 &&
           inputs.runs[2].first == CELL_FLAGS && inputs.runs[2].count == 6;
}
