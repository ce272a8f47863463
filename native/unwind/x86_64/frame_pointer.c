#include "unwind/frame_pointer.h"

enum { LARGEST_FRAME = 1024 * 1024 };

bool unwind_by_frame_pointer(struct unwind_cursor *cursor, unwind_read_fn read, unwind_returns_fn returns,
                             void *context, bool *ended) {
    struct unwind_registers *registers = &cursor->registers;
    uint64_t rsp = registers->value[UNWIND_RSP], rbp = registers->value[UNWIND_RBP], return_address, callers_rbp = rbp;
    bool has_rbp = registers->known & 1u << UNWIND_RBP;
    if (cursor->pc_is_exact && read(context, rsp, &return_address) && returns(context, return_address)) {
        registers->value[UNWIND_RSP] = rsp + 8;
    } else {
        if (!has_rbp || rbp % 8 || rbp < rsp || rbp - rsp > LARGEST_FRAME || !read(context, rbp, &callers_rbp) ||
            !read(context, rbp + 8, &return_address))
            return false;
        if (!returns(context, return_address)) {
            *ended = !cursor->pc_is_exact && callers_rbp == 0;
            return *ended;
        }
        registers->value[UNWIND_RSP] = rbp + 16;
    }
    registers->value[UNWIND_RBP] = callers_rbp;
    registers->value[UNWIND_RIP] = return_address;
    registers->known = 1u << UNWIND_RSP | 1u << UNWIND_RIP | (uint64_t)has_rbp << UNWIND_RBP;
    cursor->pc_is_exact = false;
    return true;
}
