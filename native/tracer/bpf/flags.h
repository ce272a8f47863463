// Accesses of watched variables, by hardware breakpoints.
#ifndef WHYPERF_TRACER_FLAGS_H
#define WHYPERF_TRACER_FLAGS_H

#include "bpf/scheduling.h"

SEC("perf_event")
int wp_flag(struct bpf_perf_event_data *ctx) {
    u64 thread = bpf_get_current_pid_tgid(), value = 0;
    if (!wanted(TRACE_FLAG_ACCESS) || !scope_of(thread >> 32))
        return 0;
    struct trace_cpu *cpu = this_cpu();
    struct trace_scratch *scratch = cpu ? enter(cpu) : NULL;
    if (!scratch)
        return 0;
    struct task_struct *task = bpf_get_current_task_btf();
    u32 stack = user_stack(cpu, scratch, (struct pt_regs *)bpf_task_pt_regs(task), NULL, thread >> 32);
    bpf_probe_read_user(&value, sizeof value, (void *)ctx->addr);
    struct trace_record *made = record(cpu, scratch, TRACE_FLAG_ACCESS, thread);
    if (made) {
        made->stack = stack;
        made->argument[0] = ctx->addr;
        made->argument[1] = value;
    }
    leave(cpu, scratch);
    return 0;
}

#endif
