// Who runs, who waits, who ends the wait.
#ifndef WHYPERF_TRACER_SCHEDULING_H
#define WHYPERF_TRACER_SCHEDULING_H

#include "bpf/call_stacks.h"
#include "bpf/quick_calls.h"
#include "bpf/syscalls.h"

enum { STATE_UNINTERRUPTIBLE = 2 };

// What the current thread is doing in the kernel: its system call and what that is about.
struct under_way {
    struct system_call call;
    struct trace_object about;
    u64 extra;
};

static __always_inline void put(struct trace_record *record, const struct under_way *now) {
    record->detail = now->call.number;
    record->argument[0] = now->call.argument[0];
    record->argument[1] = now->call.argument[1];
    record->argument[2] = now->call.argument[2];
    record->object = now->about.object;
    record->peer = now->about.peer;
    record->extra = now->extra;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(wp_switch, bool preempted, struct task_struct *before, struct task_struct *after, unsigned int state) {
    u32 pid = before->tgid, next = after->tgid;
    struct trace_cpu *cpu = this_cpu();
    if (!cpu)
        return 0;
    thread_came(cpu, (u32)after->pid);
    if (between_bursts(shed_level(cpu)) || !wanted(TRACE_SWITCH))
        return 0;
    struct party leaving = party_of(pid);
    if (!switches_recorded(leaving) && !switch_recorded(next))
        return 0;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return 0;
    struct under_way now = {.call.number = -1};
    u32 stack = 0, frames = 0;
    bool waits = state && !preempted; // whoever has to make room on the way back to the program has no state either
    if (pid && pid != settings.self && switches_recorded(leaving)) {
        if (!(before->flags & KERNEL_THREAD)) {
            struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(before);
            load_call(&now.call, regs);
            if (scratch->level < (waits ? TRACE_SHED_SWITCH_STACKS : TRACE_SHED_QUICK_STACKS))
                stack = stack_in_call(cpu, scratch, regs, leaving.process, before);
            if (waits)
                now.extra = call_object(before, &now.call, false, &now.about);
        }
        if (waits && (state & STATE_UNINTERRUPTIBLE || settings.kernel_stacks) &&
            scratch->level < TRACE_SHED_SWITCH_STACKS)
            frames = kernel_stack(ctx, cpu, scratch, FRAMES_OF_PROGRAM);
    }
    struct trace_record *made = record(cpu, scratch, TRACE_SWITCH, thread_of(before));
    if (made) {
        put(made, &now);
        made->stack = stack;
        made->kernel_stack = frames;
        made->other = thread_of(after);
        made->result = preempted ? 0 : state;
    }
    leave(cpu, scratch);
    return 0;
}

// Threads of the kernel serve everybody: they are not met.
static __always_inline void meet_each_other(struct trace_cpu *cpu, u64 time, struct party waking,
                                            const struct task_struct *waker, const struct task_struct *woken) {
    if (settings.scope == TRACE_SCOPE_ALL || cpu->context & BY_CHANCE || (waker->flags | woken->flags) & KERNEL_THREAD)
        return;
    struct party other = party_of(woken->tgid);
    if (waking.scope & TRACE_FOLLOWED)
        meet(cpu, time, other, woken->tgid);
    else if (other.scope & TRACE_FOLLOWED)
        meet(cpu, time, waking, waker->tgid);
}

static __always_inline void waking(void *ctx, struct task_struct *woken, u8 kind) {
    u64 thread = bpf_get_current_pid_tgid();
    u32 pid = thread >> 32;
    struct trace_cpu *cpu = this_cpu();
    if (!cpu || between_bursts(shed_level(cpu)) || !wanted(kind))
        return;
    struct party party = party_of(pid);
    if (!switches_recorded(party) && !switch_recorded(woken->tgid))
        return;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return;
    struct under_way now = {.call.number = -1};
    struct task_struct *waker = bpf_get_current_task_btf();
    meet_each_other(cpu, scratch->time, party, waker, woken);
    bool by_chance = cpu->context & BY_CHANCE;
    if (!by_chance)
        thread_woke_another(cpu, (u32)thread);
    u32 stack = 0;
    if (pid && pid != settings.self && !(waker->flags & KERNEL_THREAD)) {
        struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(waker);
        load_call(&now.call, regs);
        if (scratch->level < TRACE_SHED_WAKING_STACKS && !by_chance)
            stack = stack_in_call(cpu, scratch, regs, party.process, waker);
        if (!by_chance)
            now.extra = call_object(waker, &now.call, false, &now.about);
    }
    if (cpu->context & (TRACE_IN_HRTIMER | TRACE_IN_TIMER))
        now.about.object = cpu->expiring;
    struct trace_record *made = record(cpu, scratch, kind, whose(cpu, thread));
    if (made) {
        put(made, &now);
        made->stack = stack;
        made->other = thread_of(woken);
        made->result = woken->__state;
    }
    leave(cpu, scratch);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(wp_waking, struct task_struct *woken) {
    waking(ctx, woken, TRACE_WAKING);
    return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(wp_wakeup_new, struct task_struct *woken) {
    waking(ctx, woken, TRACE_WAKEUP_NEW);
    return 0;
}

// Of a CPU's clock, whoever runs; the idle task is not worth one.
SEC("perf_event")
int wp_sample(struct bpf_perf_event_data *ctx) {
    u64 thread = bpf_get_current_pid_tgid();
    u32 pid = thread >> 32;
    struct party party = party_of(pid);
    if (!pid || !wanted(TRACE_SAMPLE) || !party.scope)
        return 0;
    struct trace_cpu *cpu = this_cpu();
    struct trace_scratch *scratch = cpu ? enter(cpu) : NULL;
    if (!scratch)
        return 0;
    struct under_way now = {.call.number = -1};
    struct task_struct *task = bpf_get_current_task_btf();
    u32 stack = 0, frames = 0;
    bool in_user = false;
    if (!(task->flags & KERNEL_THREAD)) {
        struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
        load_call(&now.call, regs);
        in_user = interrupted_user(ctx);
        if (in_user)
            now.call.number = -1;
        stack = user_stack(cpu, scratch, regs, party.process, pid);
    }
    if (!in_user)
        frames = kernel_stack(ctx, cpu, scratch, 0);
    struct trace_record *made = record(cpu, scratch, TRACE_SAMPLE, thread);
    if (made) {
        made->detail = now.call.number;
        made->stack = stack;
        made->kernel_stack = frames;
        made->argument[0] = settings.sample_period;
    }
    leave(cpu, scratch);
    return 0;
}

#endif
