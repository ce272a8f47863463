// Beginnings, ends and names of processes and threads.
#ifndef WHYPERF_TRACER_PROCESSES_H
#define WHYPERF_TRACER_PROCESSES_H

#include "bpf/scheduling.h"

static __always_inline void put_name(struct trace_record *record, const char *name) {
    bpf_probe_read_kernel(record->argument, 16, name);
}

static __always_inline u32 followed_by_birth(u32 parent) {
    if (parent & TRACE_CHILDREN)
        return TRACE_FOLLOWED;
    return settings.scope == TRACE_SCOPE_TREE ? parent & TRACE_FOLLOWED : 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(wp_fork, struct task_struct *parent, struct task_struct *child) {
    u32 from = parent->tgid, to = child->tgid;
    u32 scope = scope_of(from);
    struct trace_cpu *cpu = this_cpu();
    struct trace_scratch *scratch = cpu ? enter(cpu) : NULL;
    if (!scratch)
        return 0;
    if (from != to) {
        struct trace_process *process = process_of(from);
        struct trace_process copy = {};
        if (process)
            copy = *process;
        copy.scope = followed_by_birth(copy.scope);
        copy.reported = 0;
        scope |= copy.scope;
        if ((process || copy.scope) && bpf_map_update_elem(&wp_processes, &to, &copy, BPF_ANY))
            count(cpu, TRACE_COUNT_PROCESSES_FULL);
        if (scope)
            notify(cpu, scratch->time, TRACE_NOTICE_FORK, from, to);
    }
    struct trace_record *made =
        wanted(TRACE_FORK) && scope ? record(cpu, scratch, TRACE_FORK, thread_of(parent)) : NULL;
    if (made) {
        made->other = thread_of(child);
        put_name(made, child->comm);
    }
    leave(cpu, scratch);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(wp_exec, struct task_struct *task, int old_pid) {
    u32 pid = task->tgid;
    if (!scope_of(pid))
        return 0;
    struct trace_cpu *cpu = this_cpu();
    struct trace_scratch *scratch = cpu ? enter(cpu) : NULL;
    if (!scratch)
        return 0;
    struct trace_process *process = process_of(pid);
    if (process) {
        process->extent = 0; // what it had mapped is gone
        process->reported = 0;
        process->patience = 0;
    }
    notify(cpu, scratch->time, TRACE_NOTICE_EXEC, pid, 0);
    struct trace_record *made = wanted(TRACE_EXEC) ? record(cpu, scratch, TRACE_EXEC, thread_of(task)) : NULL;
    if (made) {
        put_name(made, task->comm);
        made->argument[2] = (u32)old_pid;
    }
    leave(cpu, scratch);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(wp_exit, struct task_struct *task) {
    u32 pid = task->tgid;
    u32 scope = scope_of(pid);
    bool last = task->signal->live.counter == 0;
    struct trace_cpu *cpu = this_cpu();
    struct trace_scratch *scratch = cpu ? enter(cpu) : NULL;
    if (!scratch)
        return 0;
    struct trace_record *made = wanted(TRACE_EXIT) && scope ? record(cpu, scratch, TRACE_EXIT, thread_of(task)) : NULL;
    if (made)
        made->result = task->exit_code;
    if (last) {
        if (scope)
            notify(cpu, scratch->time, TRACE_NOTICE_EXIT, pid, 0);
        // Its last switch is still to come: whoever is told forgets it.
        struct trace_process *process = process_of(pid);
        if (process && scope)
            process->scope |= TRACE_GONE;
        else
            bpf_map_delete_elem(&wp_processes, &pid);
    }
    leave(cpu, scratch);
    return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(wp_rename, struct task_struct *task, const char *name) {
    if (!wanted(TRACE_RENAME) || !scope_of(task->tgid))
        return 0;
    struct trace_cpu *cpu = this_cpu();
    struct trace_scratch *scratch = cpu ? enter(cpu) : NULL;
    if (!scratch)
        return 0;
    struct trace_record *made = record(cpu, scratch, TRACE_RENAME, thread_of(task));
    if (made)
        put_name(made, name);
    leave(cpu, scratch);
    return 0;
}

SEC("tp_btf/signal_generate")
int BPF_PROG(wp_signal, int number, struct kernel_siginfo *info, struct task_struct *target, int group, int result) {
    u64 thread = bpf_get_current_pid_tgid();
    (void)info;
    (void)group;
    if (!wanted(TRACE_SIGNAL) || !(scope_of(thread >> 32) || scope_of(target->tgid)))
        return 0;
    struct trace_cpu *cpu = this_cpu();
    struct trace_scratch *scratch = cpu ? enter(cpu) : NULL;
    if (!scratch)
        return 0;
    struct trace_record *made = record(cpu, scratch, TRACE_SIGNAL, whose(cpu, thread));
    if (made) {
        made->detail = number;
        made->other = thread_of(target);
        made->result = result;
    }
    leave(cpu, scratch);
    return 0;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(wp_deliver, int number) {
    u64 thread = bpf_get_current_pid_tgid();
    if (!wanted(TRACE_SIGNAL_DELIVER) || !scope_of(thread >> 32))
        return 0;
    struct trace_cpu *cpu = this_cpu();
    struct trace_scratch *scratch = cpu ? enter(cpu) : NULL;
    if (!scratch)
        return 0;
    struct trace_record *made = record(cpu, scratch, TRACE_SIGNAL_DELIVER, thread);
    if (made)
        made->detail = number;
    leave(cpu, scratch);
    return 0;
}

#endif
