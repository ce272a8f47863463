// x86-64: what the kernel keeps of a thread that entered it.
#ifndef WHYPERF_TRACER_X86_64_REGISTERS_H
#define WHYPERF_TRACER_X86_64_REGISTERS_H

#include "bpf/kernel.h"

// Part of the kernel's interface to programs: never moves.
struct bpf_perf_event_data {
    u64 registers[21]; // in the order of struct pt_regs
    u64 sample_period;
    u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#pragma clang attribute pop

static __always_inline u64 unsigned_address(u64 return_address) {
    return return_address;
}

static __always_inline u64 user_pc(const struct pt_regs *regs) {
    return regs->ip;
}

static __always_inline u64 user_sp(const struct pt_regs *regs) {
    return regs->sp;
}

// Return addresses lie on the stack only.
static __always_inline u64 user_link(const struct pt_regs *regs) {
    return 0;
}

// Of the system call that is under way; negative outside of calls.
static __always_inline s32 call_number(const struct pt_regs *regs) {
    return (s32)regs->orig_ax;
}

static __always_inline void load_call_arguments(u64 argument[3], const struct pt_regs *regs) {
    argument[0] = regs->di;
    argument[1] = regs->si;
    argument[2] = regs->dx;
}

// Of a function that has just been entered: arguments from 1 on, and where it returns to.
static __always_inline void load_arguments(u64 argument[8], const struct pt_regs *regs) {
    argument[1] = regs->di;
    argument[2] = regs->si;
    argument[3] = regs->dx;
    argument[4] = regs->cx;
    argument[5] = regs->r8;
    argument[6] = regs->r9;
}

static __always_inline u64 returns_to(const struct pt_regs *regs) {
    u64 address = 0;
    bpf_probe_read_user(&address, sizeof address, (void *)regs->sp);
    return address;
}

static __always_inline bool interrupted_user(const struct bpf_perf_event_data *event) {
    enum { CS_REGISTER = 17 };
    return (event->registers[CS_REGISTER] & 3) == 3;
}

// Makes everything that was written before visible to who sees the word. Stores stay in order here.
static __always_inline void publish(u64 *word, u64 value) {
    barrier();
    *word = value;
    barrier();
}

#endif
