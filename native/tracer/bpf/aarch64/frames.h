// 64-bit ARM: from a frame to its caller's, by a rule.
#ifndef WHYPERF_TRACER_AARCH64_FRAMES_H
#define WHYPERF_TRACER_AARCH64_FRAMES_H

#include "bpf/located.h"

// DWARF's numbers; the program counter has none, ours is the one after the stack pointer's.
enum { FIRST_SAVED = 19, SP = 31, PC = 32, REGISTERS };
enum { SAVED_RETURN = 11 }; // the place of x30 among the saved registers

static __always_inline u32 find_cfa(struct trace_scratch *scratch, const struct trace_rule *rule, u64 *cfa) {
    u64 base;
    if (rule->kind != KIND_OFFSET)
        return CUT_RULE;
    u32 cut = register_value(scratch, rule->reg, &base);
    if (cut)
        return cut;
    *cfa = base + (u64)(s64)rule->offset;
    // Only a function that has not called anybody may have no frame at all.
    u64 lowest = scratch->value[SP] + !scratch->exact;
    return *cfa % 8 || *cfa < lowest ? CUT_NO_PROGRESS : CUT_NONE;
}

// Where the return address is still in x30: of the innermost frame itself, or as a signal's frame keeps it.
static __always_inline u32 read_link(struct trace_scratch *scratch, u64 *return_address) {
    u64 at = scratch->value[LINK_REGISTER];
    bool known = scratch->known >> LINK_REGISTER & 1;
    u32 cut = register_value(scratch, LINK_REGISTER, return_address);
    if (!cut && known)
        note_link(scratch);
    else if (!cut)
        note_caller(scratch, at);
    return cut;
}

static __always_inline u32 leave_frame(struct trace_scratch *scratch, const struct trace_rule *rule, u64 cfa) {
    const u64 CALLEE_SAVED = ((1ull << (LINK_REGISTER - FIRST_SAVED)) - 1) << FIRST_SAVED;
    u64 return_address, base = cfa + (u64)((s64)rule->saved_base * 8);
    if (rule->saved[SAVED_RETURN] == SAVED_SAME) {
        u32 cut = read_link(scratch, &return_address);
        if (cut)
            return cut;
    } else {
        u64 at = base + (u64)((s64)rule->saved[SAVED_RETURN] * 8);
        if (!read_word(scratch, at, &return_address))
            return CUT_UNREADABLE;
        note_caller(scratch, at);
    }
    scratch->known &= CALLEE_SAVED;
    scratch->located &= CALLEE_SAVED;
#pragma unroll
    for (u32 i = 0; i < SAVED_RETURN; i++)
        locate(scratch, FIRST_SAVED + i, rule->saved[i], base, true);
    scratch->value[SP] = cfa;
    scratch->value[PC] = unsigned_address(return_address);
    scratch->known |= 1ull << SP | 1ull << PC;
    scratch->exact = 0;
    return CUT_NONE;
}

// The kernel gives no unwind information for where handlers return to; it is known by its code: mov x8, #139; svc #0,
// the system call rt_sigreturn.
static __always_inline bool at_signal_return(struct trace_scratch *scratch) {
    const u64 RETURN_FROM_SIGNAL = 0xd4000001d2801168ull;
    u64 code = 0;
    return bpf_probe_read_user(&code, sizeof code, (void *)scratch->value[PC]) == 0 && code == RETURN_FROM_SIGNAL;
}

// The kernel's signal frame lies at sp: a siginfo, a ucontext, in it the fault's address and the registers in their
// order, x0 to x30, sp, pc.
static __always_inline u32 leave_signal(struct trace_scratch *scratch) {
    enum { REGISTERS_OFFSET = 128 + 176 + 8 };
    u64 sp, pc, at = scratch->value[SP] + REGISTERS_OFFSET;
    if (!read_word(scratch, at + 8 * SP, &sp) || !read_word(scratch, at + 8 * PC, &pc))
        return CUT_UNREADABLE;
    note_caller(scratch, at + 8 * PC);
#pragma unroll
    for (u32 i = 0; i < SP; i++)
        scratch->value[i] = at + 8 * i;
    scratch->value[SP] = sp;
    scratch->value[PC] = pc;
    scratch->known = 1ull << SP | 1ull << PC;
    scratch->located = (1ull << SP) - 1;
    scratch->exact = 1;
    return CUT_NONE;
}

static __always_inline void load_registers(struct trace_scratch *scratch, const struct pt_regs *regs) {
    const u64 *from = regs->regs;
#pragma unroll
    for (u32 i = 0; i < SP; i++)
        scratch->value[i] = from[i];
    scratch->value[SP] = regs->sp;
    scratch->value[PC] = regs->pc;
    scratch->known = (1ull << REGISTERS) - 1;
}

#endif
