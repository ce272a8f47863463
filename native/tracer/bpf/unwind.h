// User stacks by unwind rows: as native/unwind/step.c, within what BPF allows.
#ifndef WHYPERF_TRACER_UNWIND_H
#define WHYPERF_TRACER_UNWIND_H

#include "bpf/rules.h"

#if TRACE_ON_AARCH64
#include "bpf/aarch64/frames.h"
#else
#include "bpf/x86_64/frames.h"
#endif

// A callback of bpf_loop: notes a frame and leaves it. 1 ends the walk.
static long unwind_frame(u32 index, struct unwinding *unwinding) {
    struct trace_scratch *scratch = unwinding->scratch;
    u64 pc = scratch->value[PC];
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
    struct trace_rule *rule = bpf_map_lookup_elem(&wp_rules, &number);
    bool ruled = rule && rule->kind != KIND_NONE;
    if (ruled && rule->kind == KIND_END)
        return 1;
    u32 cut = number == RULE_NO_MODULE ? CUT_NO_MODULE : CUT_NO_ROW;
    if (ruled ? rule->kind == KIND_SIGNAL : at_signal_return(scratch)) {
        cut = leave_signal(scratch);
    } else if (ruled) {
        u64 cfa = 0;
        cut = find_cfa(scratch, rule, &cfa);
        if (!cut)
            cut = leave_frame(scratch, rule, cfa);
    }
    scratch->cut = cut;
    return cut != CUT_NONE;
}

static __always_inline void begin_unwinding(struct trace_scratch *scratch, const struct pt_regs *regs) {
    load_registers(scratch, regs);
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
    notify(cpu, scratch->time, TRACE_NOTICE_UNKNOWN, pid, scratch->value[PC]);
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
    struct walk_start start = {user_pc(regs), user_sp(regs), user_link(regs), unwinding.generation};
    scratch->kept = 0;
    count(cpu, TRACE_COUNT_STACKS);
    begin_walk(scratch, start.sp);
    u32 known = unwinding.generation ? walk_again(cpu, scratch, &start) : 0;
    if (known)
        return known;
    begin_unwinding(scratch, regs);
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
