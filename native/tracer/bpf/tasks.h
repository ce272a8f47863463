// Tasks that programs put into queues of their own, by uprobes at the functions that do so.
//
// Such a program can be preempted, unlike those at tracepoints, so it keeps away from the rings and from stack walks,
// which rely on strict nesting. Two addresses stand for the stack: the function's, and where it returns to.
#ifndef WHYPERF_TRACER_TASKS_H
#define WHYPERF_TRACER_TASKS_H

#include "bpf/scope.h"

static __always_inline u64 task_value(const u64 arguments[8], u32 number, bool in_memory, s16 offset) {
    u64 value = arguments[number & 7];
    if (in_memory && bpf_probe_read_user(&value, sizeof value, (void *)(value + (s64)offset)))
        return 0;
    return value;
}

// Whoever reads is waked for a function that is new: a probe has to be there before the task's turn comes.
static __always_inline u64 when_to_wake(u64 function, u32 pid) {
    struct task_function key = {function, pid};
    u8 seen = 1;
    if (!function || bpf_map_lookup_elem(&wp_functions, &key))
        return BPF_RB_NO_WAKEUP;
    bpf_map_update_elem(&wp_functions, &key, &seen, BPF_ANY);
    return BPF_RB_FORCE_WAKEUP;
}

SEC("uprobe")
int wp_task(struct pt_regs *ctx) {
    u64 thread = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
    struct trace_cpu *cpu = this_cpu();
    if (!cpu || !wanted(TRACE_TASK_PUT) || !scope_of(thread >> 32))
        return 0;
    struct trace_task_probe probe;
    __builtin_memcpy(&probe, &cookie, sizeof probe);
    u64 arguments[8] = {0}, function = 0;
    load_arguments(arguments, ctx);
    if (probe.function)
        function = probe.runs ? user_pc(ctx)
                              : task_value(arguments, probe.function, probe.function_in_memory, probe.function_offset);
    struct trace_record *made = bpf_ringbuf_reserve(&wp_tasks, sizeof *made, 0);
    if (!made) {
        count(cpu, TRACE_COUNT_TASKS_LOST);
        return 0;
    }
    __builtin_memset(made, 0, sizeof *made);
    made->time = bpf_ktime_get_ns();
    made->tid = (u32)thread;
    made->pid = (u32)(thread >> 32);
    made->kind = probe.runs ? TRACE_TASK_RUN : TRACE_TASK_PUT;
    made->cpu = (u16)bpf_get_smp_processor_id();
    made->detail = probe.queue;
    made->object = task_value(arguments, probe.key, probe.key_in_memory, probe.key_offset);
    made->peer = function;
    made->argument[0] = user_pc(ctx);
    made->argument[1] = returns_to(ctx);
    bpf_ringbuf_submit(made, probe.runs ? BPF_RB_NO_WAKEUP : when_to_wake(function, thread >> 32));
    return 0;
}

#endif
