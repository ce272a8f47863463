// 64-bit ARM: from a frame to its caller's. Called in signal handlers: no library calls, no memory but what `read`
// reads.
#include "sampler/session.h"
#include "unwind/unwind.h"

// The kernel's signal frame lies at sp: a siginfo, a ucontext, in it the fault's address and the registers in their
// order, x0 to x30, sp, pc.
int unwind_leave_signal(struct unwind_cursor *cursor, unwind_read_fn read, void *context) {
    enum { SIGINFO_BYTES = 128, MCONTEXT_OFFSET = 176, REGISTERS_OFFSET = SIGINFO_BYTES + MCONTEXT_OFFSET + 8 };
    struct unwind_registers interrupted = {.known = unwind_bit(UNWIND_REGISTERS) - 1};
    uint64_t frame = cursor->registers.value[UNWIND_SP];
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        if (!read(context, frame + REGISTERS_OFFSET + 8 * i, &interrupted.value[i]))
            return WHYPERF_CUT_UNREADABLE;
    cursor->registers = interrupted;
    cursor->pc_is_exact = true;
    return WHYPERF_CUT_NONE;
}

// mov x8, #139; svc #0: the system call rt_sigreturn.
bool unwind_at_signal_return(const struct unwind_cursor *cursor, unwind_read_fn read, void *context) {
    static const uint64_t RETURN_FROM_SIGNAL = 0xd4000001d2801168ull;
    uint64_t code;
    return read(context, cursor->registers.value[UNWIND_PC], &code) && code == RETURN_FROM_SIGNAL;
}

// The frame pointer is where the caller's is saved, once it is.
static bool find_cfa_by_record(const struct unwind_row *row, const struct unwind_registers *registers, uint64_t *cfa) {
    int8_t saved = row->saved[UNWIND_COLUMN_RETURN - 1];
    if (row->reg != UNWIND_SP || saved == UNWIND_SAME || saved == UNWIND_LOST ||
        !(registers->known & unwind_bit(UNWIND_FP)))
        return false;
    *cfa = registers->value[UNWIND_FP] - (uint64_t)((int64_t)(row->saved_base + saved) * 8);
    return true;
}

int unwind_find_cfa(const struct unwind_cursor *cursor, const struct unwind_row *row, unwind_read_fn read,
                    void *context, uint64_t *cfa) {
    const struct unwind_registers *registers = &cursor->registers;
    (void)read, (void)context;
    if (row->kind != UNWIND_KIND_OFFSET || row->reg > UNWIND_SP)
        return WHYPERF_CUT_RULE;
    if (registers->known & unwind_bit(row->reg))
        *cfa = registers->value[row->reg] + (uint64_t)(int64_t)row->offset;
    else if (!find_cfa_by_record(row, registers, cfa))
        return WHYPERF_CUT_REGISTER;
    // Only a function that has not called anybody may have no frame at all.
    uint64_t lowest = registers->value[UNWIND_SP] + !cursor->pc_is_exact;
    return *cfa % 8 || *cfa < lowest ? WHYPERF_CUT_NO_PROGRESS : WHYPERF_CUT_NONE;
}

int unwind_leave(struct unwind_cursor *cursor, const struct unwind_row *row, uint64_t cfa, unwind_read_fn read,
                 void *context, bool *ended) {
    static const uint64_t CALLEE_SAVED = ((1ull << (UNWIND_LR - 19)) - 1) << 19;
    struct unwind_registers *registers = &cursor->registers;
    // Nothing moves before everything has been read.
    uint64_t restored[UNWIND_SAVED_REGISTERS], known = registers->known & CALLEE_SAVED;
    uint32_t changed = 0;
    for (unsigned i = 0; i < UNWIND_SAVED_REGISTERS; i++) {
        int8_t saved = row->saved[i];
        if (saved == UNWIND_SAME)
            continue;
        known &= ~unwind_bit(UNWIND_SAVED_REGISTER[i]);
        if (saved == UNWIND_LOST)
            continue;
        if (!read(context, cfa + (uint64_t)((int64_t)(row->saved_base + saved) * 8), &restored[i]))
            return WHYPERF_CUT_UNREADABLE;
        changed |= 1u << i;
    }
    uint64_t return_address = registers->value[UNWIND_LR];
    if (changed & 1u << UNWIND_COLUMN_RETURN)
        return_address = restored[UNWIND_COLUMN_RETURN];
    else if (!(registers->known & unwind_bit(UNWIND_LR)))
        return WHYPERF_CUT_REGISTER;
    return_address = unwind_unsigned(return_address);
    *ended = return_address == 0;
    if (*ended)
        return WHYPERF_CUT_NONE;
    for (unsigned i = 0; changed; i++, changed >>= 1)
        if (changed & 1) {
            registers->value[UNWIND_SAVED_REGISTER[i]] = restored[i];
            known |= unwind_bit(UNWIND_SAVED_REGISTER[i]);
        }
    registers->value[UNWIND_PC] = return_address;
    registers->value[UNWIND_SP] = cfa;
    // Where the caller returns to its call has overwritten in x30.
    registers->known = (known & ~unwind_bit(UNWIND_LR)) | unwind_bit(UNWIND_PC) | unwind_bit(UNWIND_SP);
    cursor->pc_is_exact = false;
    return WHYPERF_CUT_NONE;
}
