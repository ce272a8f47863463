// x86-64: from a frame to its caller's. Called in signal handlers: no library calls, no memory but what `read` reads.
#include "sampler/session.h"
#include "unwind/unwind.h"

static const uint64_t CALLEE_SAVED = 1u << UNWIND_RBX | 1u << UNWIND_RBP | 0xfu << UNWIND_R12;

// Where the kernel puts the interrupted registers: ucontext.uc_mcontext.gregs, in its order.
int unwind_leave_signal(struct unwind_cursor *cursor, unwind_read_fn read, void *context) {
    enum { GREGS_OFFSET = 40 };
    static const uint8_t GREGS[UNWIND_REGISTERS] = {
        UNWIND_R8,  UNWIND_R9,  UNWIND_R10, UNWIND_R11, UNWIND_R12, UNWIND_R13, UNWIND_R14, UNWIND_R15, UNWIND_RDI,
        UNWIND_RSI, UNWIND_RBP, UNWIND_RBX, UNWIND_RDX, UNWIND_RAX, UNWIND_RCX, UNWIND_RSP, UNWIND_RIP};
    struct unwind_registers interrupted = {.known = (1u << UNWIND_REGISTERS) - 1};
    uint64_t ucontext = cursor->registers.value[UNWIND_RSP];
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        if (!read(context, ucontext + GREGS_OFFSET + 8 * i, &interrupted.value[GREGS[i]]))
            return WHYPERF_CUT_UNREADABLE;
    cursor->registers = interrupted;
    cursor->pc_is_exact = true;
    return WHYPERF_CUT_NONE;
}

static int find_cfa(const struct unwind_row *row, const struct unwind_registers *registers, unwind_read_fn read,
                    void *context, uint64_t *cfa) {
    if (row->reg >= UNWIND_RIP)
        return WHYPERF_CUT_RULE;
    if (!(registers->known & 1u << row->reg))
        return WHYPERF_CUT_REGISTER;
    uint64_t base = registers->value[row->reg];
    switch (row->kind) {
    case UNWIND_KIND_OFFSET:
    case UNWIND_KIND_REALIGN:
        *cfa = base + (uint64_t)(int64_t)row->offset;
        return WHYPERF_CUT_NONE;
    case UNWIND_KIND_DEREF:
        return read(context, base + (uint64_t)(int64_t)row->offset, cfa) ? WHYPERF_CUT_NONE : WHYPERF_CUT_UNREADABLE;
    case UNWIND_KIND_DEREF_PLUS:
        if (!read(context, base + (uint64_t)(int64_t)(row->offset >> 8), cfa))
            return WHYPERF_CUT_UNREADABLE;
        *cfa += row->offset & 255;
        return WHYPERF_CUT_NONE;
    case UNWIND_KIND_PLT:
        *cfa = base + 8 + ((int32_t)(registers->value[UNWIND_RIP] & 15) >= row->offset ? 8 : 0);
        return WHYPERF_CUT_NONE;
    default:
        return WHYPERF_CUT_RULE;
    }
}

// From what the row's saved[] count; false when that register's value is not known.
static bool saved_base(const struct unwind_row *row, const struct unwind_registers *registers, uint64_t cfa,
                       uint64_t *base) {
    if (row->kind != UNWIND_KIND_DEREF && row->kind != UNWIND_KIND_REALIGN) {
        *base = cfa;
        return true;
    }
    unsigned reg = row->kind == UNWIND_KIND_REALIGN ? (unsigned)UNWIND_RBP : row->reg;
    *base = registers->value[reg] + 8;
    return registers->known & 1u << reg;
}

int unwind_find_cfa(const struct unwind_cursor *cursor, const struct unwind_row *row, unwind_read_fn read,
                    void *context, uint64_t *cfa) {
    const struct unwind_registers *registers = &cursor->registers;
    int cut = find_cfa(row, registers, read, context, cfa);
    if (cut)
        return cut;
    return *cfa % 8 || *cfa <= registers->value[UNWIND_RSP] ? WHYPERF_CUT_NO_PROGRESS : WHYPERF_CUT_NONE;
}

int unwind_leave(struct unwind_cursor *cursor, const struct unwind_row *row, uint64_t cfa, unwind_read_fn read,
                 void *context, bool *ended) {
    const struct unwind_registers *registers = &cursor->registers;
    // Nothing moves before everything has been read.
    uint64_t restored[UNWIND_SAVED_REGISTERS], return_address, base;
    uint64_t known = registers->known & CALLEE_SAVED;
    uint32_t changed = 0;
    bool base_known = saved_base(row, registers, cfa, &base);
    for (unsigned i = 0; i < UNWIND_SAVED_REGISTERS; i++) {
        int8_t saved = row->saved[i];
        if (saved == UNWIND_SAME)
            continue;
        known &= ~(1u << UNWIND_SAVED_REGISTER[i]);
        if (saved == UNWIND_LOST || !base_known)
            continue;
        if (!read(context, base + (uint64_t)((int64_t)saved * 8), &restored[i]))
            return WHYPERF_CUT_UNREADABLE;
        changed |= 1u << i;
    }
    if (!read(context, cfa - 8, &return_address))
        return WHYPERF_CUT_UNREADABLE;
    *ended = return_address == 0;
    if (*ended)
        return WHYPERF_CUT_NONE;
    struct unwind_registers *caller = &cursor->registers;
    for (unsigned i = 0; changed; i++, changed >>= 1)
        if (changed & 1) {
            caller->value[UNWIND_SAVED_REGISTER[i]] = restored[i];
            known |= 1u << UNWIND_SAVED_REGISTER[i];
        }
    caller->value[UNWIND_RIP] = return_address;
    caller->value[UNWIND_RSP] = cfa;
    caller->known = known | 1u << UNWIND_RIP | 1u << UNWIND_RSP;
    cursor->pc_is_exact = false;
    return WHYPERF_CUT_NONE;
}

bool unwind_at_signal_return(const struct unwind_cursor *cursor, unwind_read_fn read, void *context) {
    (void)cursor, (void)read, (void)context;
    return false;
}
