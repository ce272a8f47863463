// User stacks by unwind rows: as native/unwind/step.c, within what BPF allows.
//
// Registers are not read when a frame is left, only where they lie: most are never asked for.
#ifndef WHYPERF_TRACER_UNWIND_H
#define WHYPERF_TRACER_UNWIND_H

#include "bpf/known_walks.h"
#include "bpf/rules.h"

enum { RBX = 3, RBP = 6, RSP = 7, RIP = 16 };
enum { KIND_NONE, KIND_OFFSET, KIND_DEREF, KIND_PLT, KIND_SIGNAL, KIND_END, KIND_RULE, KIND_REALIGN, KIND_DEREF_PLUS };
enum { CUT_NONE, CUT_NO_MODULE, CUT_NO_ROW, CUT_RULE, CUT_REGISTER, CUT_UNREADABLE, CUT_NO_PROGRESS, CUT_DEPTH };
enum { SAVED_SAME = 0, SAVED_LOST = 127 };

static __always_inline u32 register_value(struct trace_scratch *scratch, u32 reg, u64 *value) {
    reg &= TRACE_REGISTER_SLOTS - 1;
    *value = scratch->value[reg];
    if (scratch->known >> reg & 1)
        return CUT_NONE;
    if (!(scratch->located >> reg & 1))
        return CUT_REGISTER;
    return read_word(scratch, *value, value) ? CUT_NONE : CUT_UNREADABLE;
}

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
        *cfa = base + 8 + ((s32)(scratch->value[RIP] & 15) >= rule->offset ? 8 : 0);
        break;
    default:
        return CUT_RULE;
    }
    return *cfa % 8 || *cfa <= scratch->value[RSP] ? CUT_NO_PROGRESS : CUT_NONE;
}

static __always_inline void locate(struct trace_scratch *scratch, u32 reg, signed char saved, u64 base, bool based) {
    if (saved == SAVED_SAME)
        return;
    scratch->known &= ~(1u << reg);
    scratch->located &= ~(1u << reg);
    if (saved == SAVED_LOST || !based)
        return;
    scratch->value[reg] = base + (u64)((s64)saved * 8);
    scratch->located |= 1u << reg;
}

static __always_inline u32 leave_frame(struct trace_scratch *scratch, const struct trace_rule *rule, u64 cfa) {
    enum { CALLEE_SAVED = 1u << RBX | 1u << RBP | 0xfu << 12 };
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
    scratch->value[RSP] = cfa;
    scratch->value[RIP] = return_address;
    scratch->known |= 1u << RSP | 1u << RIP;
    scratch->exact = 0;
    return CUT_NONE;
}

// Where the kernel puts the interrupted registers: ucontext.uc_mcontext.gregs, in its order.
static __always_inline u32 leave_signal(struct trace_scratch *scratch) {
    enum { GREGS_OFFSET = 40 };
    u64 *gregs = scratch->signal;
    if (bpf_probe_read_user(gregs, sizeof scratch->signal, (void *)(scratch->value[RSP] + GREGS_OFFSET)))
        return CUT_UNREADABLE;
    note_caller(scratch, scratch->value[RSP] + GREGS_OFFSET + 8 * RIP);
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
    scratch->value[RSP] = gregs[15];
    scratch->value[RIP] = gregs[16];
    scratch->known = (1u << 17) - 1;
    scratch->located = 0;
    scratch->exact = 1;
    return CUT_NONE;
}

// A callback of bpf_loop: notes a frame and leaves it. 1 ends the walk.
static long unwind_frame(u32 index, struct unwinding *unwinding) {
    struct trace_scratch *scratch = unwinding->scratch;
    u64 pc = scratch->value[RIP];
    u32 depth = scratch->depth;
    (void)index;
    if (!pc)
        return 1;
    if (depth >= TRACE_MAX_FRAMES) {
        scratch->cut = CUT_DEPTH;
        return 1;
    }
    scratch->frames[depth] = pc;
    scratch->depth = depth + 1;
    scratch->hash = mix(scratch->hash, pc);
    pc -= !scratch->exact;
    u32 number = find_rule(unwinding, pc);
    if (number == RULE_NO_MODULE) {
        scratch->cut = CUT_NO_MODULE;
        return 1;
    }
    struct trace_rule *rule = bpf_map_lookup_elem(&wp_rules, &number);
    if (!rule || rule->kind == KIND_NONE) {
        scratch->cut = CUT_NO_ROW;
        return 1;
    }
    if (rule->kind == KIND_END)
        return 1;
    u64 cfa = 0;
    u32 cut = rule->kind == KIND_SIGNAL ? leave_signal(scratch) : find_cfa(scratch, rule, &cfa);
    if (!cut && rule->kind != KIND_SIGNAL)
        cut = leave_frame(scratch, rule, cfa);
    scratch->cut = cut;
    return cut != CUT_NONE;
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
    value[RSP] = regs->sp;
    value[8] = regs->r8;
    value[9] = regs->r9;
    value[10] = regs->r10;
    value[11] = regs->r11;
    value[12] = regs->r12;
    value[13] = regs->r13;
    value[14] = regs->r14;
    value[15] = regs->r15;
    value[RIP] = regs->ip;
    scratch->known = (1u << 17) - 1;
    scratch->located = 0;
    scratch->exact = 1;
    scratch->depth = 0;
    scratch->cut = CUT_NONE;
    scratch->hash = 0;
    scratch->mapping.start = scratch->mapping.end = 0;
}

static __always_inline void report_unknown(struct trace_cpu *cpu, struct trace_scratch *scratch,
                                           struct trace_process *process, u32 pid) {
    enum { LEAST_PATIENCE = 100 };
    u32 patience = process->patience < LEAST_PATIENCE ? LEAST_PATIENCE : process->patience;
    if (scratch->time - process->reported < (u64)patience * 1000000)
        return;
    process->reported = scratch->time;
    notify(cpu, scratch->time, TRACE_NOTICE_UNKNOWN, pid, scratch->value[RIP]);
}

// The current thread's user stack from its registers on. A process that nobody told of yet has one frame; one that was
// not looked up yet is given as NULL.
static __noinline u32 user_stack(struct trace_cpu *cpu, struct trace_scratch *scratch, struct pt_regs *regs,
                                 struct trace_process *process, u32 pid) {
    if (!process)
        process = process_of(pid);
    if (!process) {
        struct trace_process added = {};
        if (bpf_map_update_elem(&wp_processes, &pid, &added, BPF_NOEXIST))
            count(cpu, TRACE_COUNT_PROCESSES_FULL);
        process = process_of(pid);
    }
    struct unwinding unwinding = {.cpu = cpu, .scratch = scratch};
    if (process) {
        u32 extent = process->extent;
        struct trace_mapping *header = bpf_map_lookup_elem(&wp_mappings, &extent);
        if (header && extent && header->generation == process->generation) {
            unwinding.extent = extent + 1;
            unwinding.mappings = (u32)header->start;
            unwinding.generation = process->generation;
        }
    }
    struct walk_start start = {regs->ip, regs->sp, unwinding.generation};
    scratch->kept = 0;
    count(cpu, TRACE_COUNT_STACKS);
    begin_walk(scratch, start.sp);
    u32 known = unwinding.generation ? walk_again(cpu, scratch, &start) : 0;
    if (known)
        return known;
    load_registers(scratch, regs);
    bpf_loop(TRACE_MAX_FRAMES + 1, unwind_frame, &unwinding, 0);
    u32 cut = scratch->cut;
    if (cut) {
        count(cpu, TRACE_COUNT_CUT + cut);
        if (!unwinding.mappings)
            count(cpu, TRACE_COUNT_NO_PROCESS);
        if (cut == CUT_NO_MODULE && process)
            report_unknown(cpu, scratch, process, pid);
    }
    u32 number = intern(cpu, scratch, cut << TRACED_STACK_CUT_SHIFT);
    if (number && !cut)
        remember_walk(cpu, scratch, &start);
    else
        scratch->kept = 0;
    return number;
}

#endif
