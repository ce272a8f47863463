// 64-bit ARM: what the kernel keeps of a thread that entered it.
#ifndef WHYPERF_TRACER_AARCH64_REGISTERS_H
#define WHYPERF_TRACER_AARCH64_REGISTERS_H

#include "bpf/kernel.h"

// Part of the kernel's interface to programs: never moves.
struct bpf_perf_event_data {
    u64 registers[34]; // x0 to x30, sp, pc, pstate
    u64 sample_period;
    u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
    u64 regs[31];
    u64 sp, pc, pstate;
    u64 orig_x0;
    s32 syscallno;
};

#pragma clang attribute pop

enum { LINK_REGISTER = 30 };

// Return addresses may be signed, in bits that no address of a program has.
static __always_inline u64 unsigned_address(u64 return_address) {
    return return_address & ((1ull << 48) - 1);
}

static __always_inline u64 user_pc(const struct pt_regs *regs) {
    return regs->pc;
}

static __always_inline u64 user_sp(const struct pt_regs *regs) {
    return regs->sp;
}

// A function that calls nobody may keep its return address here only.
static __always_inline u64 user_link(const struct pt_regs *regs) {
    return regs->regs[LINK_REGISTER];
}

// Of the system call that is under way; negative outside of calls.
static __always_inline s32 call_number(const struct pt_regs *regs) {
    return regs->syscallno;
}

// The result takes the first argument's place when the call ends.
static __always_inline void load_call_arguments(u64 argument[3], const struct pt_regs *regs) {
    argument[0] = regs->orig_x0;
    argument[1] = regs->regs[1];
    argument[2] = regs->regs[2];
}

// Of a function that has just been entered: arguments from 1 on, and where it returns to.
static __always_inline void load_arguments(u64 argument[8], const struct pt_regs *regs) {
    argument[1] = regs->regs[0];
    argument[2] = regs->regs[1];
    argument[3] = regs->regs[2];
    argument[4] = regs->regs[3];
    argument[5] = regs->regs[4];
    argument[6] = regs->regs[5];
}

static __always_inline u64 returns_to(const struct pt_regs *regs) {
    return unsigned_address(regs->regs[LINK_REGISTER]);
}

static __always_inline bool interrupted_user(const struct bpf_perf_event_data *event) {
    enum { PSTATE_REGISTER = 33, EXCEPTION_LEVEL = 15 };
    return (event->registers[PSTATE_REGISTER] & EXCEPTION_LEVEL) == 0;
}

// Makes everything that was written before visible to who sees the word: an exchange orders stores, which this machine
// does not do by itself.
static __always_inline void publish(u64 *word, u64 value) {
    __sync_lock_test_and_set(word, value);
}

#endif
