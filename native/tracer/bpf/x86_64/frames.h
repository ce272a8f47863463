// x86-64: from a frame to its caller's, by a rule.
#ifndef WHYPERF_TRACER_X86_64_FRAMES_H
#define WHYPERF_TRACER_X86_64_FRAMES_H

#include "bpf/located.h"

// DWARF's numbers.
enum { RBX = 3, RBP = 6, SP = 7, PC = 16, REGISTERS };

static __always_inline u32 find_cfa(struct trace_scratch *scratch, const struct trace_rule *rule, u64 *cfa) {
    u64 base, offset = (u64)(s64)rule->offset;
    u32 cut = register_value(scratch, rule->reg, &base);
    if (cut)
        return cut;
    switch (rule->kind) {
    case KIND_OFFSET:
    case KIND_REALIGN:
        *cfa = base + offset;
        break;
    case KIND_DEREF:
        if (!read_word(scratch, base + offset, cfa))
            return CUT_UNREADABLE;
        break;
    case KIND_DEREF_PLUS:
        if (!read_word(scratch, base + (u64)(s64)(rule->offset >> 8), cfa))
            return CUT_UNREADABLE;
        *cfa += rule->offset & 255;
        break;
    case KIND_PLT:
        *cfa = base + 8 + ((s32)(scratch->value[PC] & 15) >= rule->offset ? 8 : 0);
        break;
    default:
        return CUT_RULE;
    }
    return *cfa % 8 || *cfa <= scratch->value[SP] ? CUT_NO_PROGRESS : CUT_NONE;
}

static __always_inline u32 leave_frame(struct trace_scratch *scratch, const struct trace_rule *rule, u64 cfa) {
    const u64 CALLEE_SAVED = 1ull << RBX | 1ull << RBP | 0xfull << 12;
    u64 return_address, base = cfa;
    bool based = true;
    if (rule->kind == KIND_DEREF || rule->kind == KIND_REALIGN) {
        based = register_value(scratch, rule->kind == KIND_REALIGN ? RBP : rule->reg, &base) == CUT_NONE;
        base += 8;
    }
    if (!read_word(scratch, cfa - 8, &return_address))
        return CUT_UNREADABLE;
    note_caller(scratch, cfa - 8);
    scratch->known &= CALLEE_SAVED;
    scratch->located &= CALLEE_SAVED;
    locate(scratch, RBX, rule->saved[0], base, based);
    locate(scratch, RBP, rule->saved[1], base, based);
    locate(scratch, 12, rule->saved[2], base, based);
    locate(scratch, 13, rule->saved[3], base, based);
    locate(scratch, 14, rule->saved[4], base, based);
    locate(scratch, 15, rule->saved[5], base, based);
    scratch->value[SP] = cfa;
    scratch->value[PC] = return_address;
    scratch->known |= 1ull << SP | 1ull << PC;
    scratch->exact = 0;
    return CUT_NONE;
}

// The kernel gives unwind information for where handlers return to.
static __always_inline bool at_signal_return(struct trace_scratch *scratch) {
    return false;
}

// Where the kernel puts the interrupted registers: ucontext.uc_mcontext.gregs, in its order.
static __always_inline u32 leave_signal(struct trace_scratch *scratch) {
    enum { GREGS_OFFSET = 40 };
    u64 *gregs = scratch->signal;
    if (bpf_probe_read_user(gregs, sizeof scratch->signal, (void *)(scratch->value[SP] + GREGS_OFFSET)))
        return CUT_UNREADABLE;
    note_caller(scratch, scratch->value[SP] + GREGS_OFFSET + 8 * PC);
#pragma unroll
    for (u32 i = 0; i < 8; i++)
        scratch->value[8 + i] = gregs[i];
    scratch->value[5] = gregs[8];
    scratch->value[4] = gregs[9];
    scratch->value[RBP] = gregs[10];
    scratch->value[RBX] = gregs[11];
    scratch->value[1] = gregs[12];
    scratch->value[0] = gregs[13];
    scratch->value[2] = gregs[14];
    scratch->value[SP] = gregs[15];
    scratch->value[PC] = gregs[16];
    scratch->known = (1ull << REGISTERS) - 1;
    scratch->located = 0;
    scratch->exact = 1;
    return CUT_NONE;
}

static __always_inline void load_registers(struct trace_scratch *scratch, const struct pt_regs *regs) {
    u64 *value = scratch->value;
    value[0] = regs->ax;
    value[1] = regs->dx;
    value[2] = regs->cx;
    value[RBX] = regs->bx;
    value[4] = regs->si;
    value[5] = regs->di;
    value[RBP] = regs->bp;
    value[SP] = regs->sp;
    value[8] = regs->r8;
    value[9] = regs->r9;
    value[10] = regs->r10;
    value[11] = regs->r11;
    value[12] = regs->r12;
    value[13] = regs->r13;
    value[14] = regs->r14;
    value[15] = regs->r15;
    value[PC] = regs->ip;
    scratch->known = (1ull << REGISTERS) - 1;
}

#endif
