#include "unwind/frame_pointer.h"
#include "unwind/call_code.h"

enum { LARGEST_FRAME = 1024 * 1024, LARGEST_LEAF = 4096, LARGEST_FUNCTION = 64 * 1024 };

// A function that calls nothing leaves its return address in x30. In one that has called, x30 is where that call
// returned to, within the function: the call is taken for ours if it leads to shortly before the pc, or comes from far.
static bool returns_to_link_register(const struct unwind_cursor *cursor, unwind_read_fn read, unwind_returns_fn returns,
                                     void *context) {
    const struct unwind_registers *registers = &cursor->registers;
    uint64_t code, target, pc = registers->value[UNWIND_PC];
    uint64_t return_address = unwind_unsigned(registers->value[UNWIND_LR]);
    uint64_t distance = return_address > pc ? return_address - pc : pc - return_address;
    if (!cursor->pc_is_exact || !(registers->known & unwind_bit(UNWIND_LR)) || !returns(context, return_address))
        return false;
    if (distance > LARGEST_FUNCTION)
        return true;
    return read(context, return_address - 8, &code) &&
           direct_call((uint32_t)(code >> 32), return_address - 4, &target) && target <= pc &&
           pc - target < LARGEST_LEAF;
}

bool unwind_by_frame_pointer(struct unwind_cursor *cursor, unwind_read_fn read, unwind_returns_fn returns,
                             void *context, bool *ended) {
    struct unwind_registers *registers = &cursor->registers;
    uint64_t sp = registers->value[UNWIND_SP], fp = registers->value[UNWIND_FP], callers_fp = fp, return_address;
    bool has_fp = registers->known & unwind_bit(UNWIND_FP);
    if (returns_to_link_register(cursor, read, returns, context)) {
        return_address = unwind_unsigned(registers->value[UNWIND_LR]);
    } else {
        if (!has_fp || fp % 8 || fp < sp || fp - sp > LARGEST_FRAME || !read(context, fp, &callers_fp) ||
            !read(context, fp + 8, &return_address))
            return false;
        return_address = unwind_unsigned(return_address);
        if (!returns(context, return_address)) {
            *ended = !cursor->pc_is_exact && callers_fp == 0;
            return *ended;
        }
        // The record lies at the frame's bottom: where the caller's frame begins is not known, only that it is above.
        registers->value[UNWIND_SP] = fp + 16;
        registers->known &= ~unwind_bit(UNWIND_SP);
    }
    registers->value[UNWIND_FP] = callers_fp;
    registers->value[UNWIND_PC] = return_address;
    registers->known =
        (registers->known & unwind_bit(UNWIND_SP)) | unwind_bit(UNWIND_PC) | (uint64_t)has_fp << UNWIND_FP;
    cursor->pc_is_exact = false;
    return true;
}
