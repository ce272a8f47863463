// Timers that threads wait for: those which a user thread starts in its own system call. Of the timer wheel only the
// ones on the thread's kernel stack (sleeps with a time limit); the rest is the kernel's own business.
#ifndef WHYPERF_TRACER_TIMERS_H
#define WHYPERF_TRACER_TIMERS_H

#include "bpf/interrupts.h"
#include "bpf/scope.h"

static __always_inline void timer_started(u64 timer, u64 expires, s32 wheel) {
    enum { KERNEL_STACK = 1 << 14 };
    u64 thread = bpf_get_current_pid_tgid();
    struct task_struct *task = bpf_get_current_task_btf();
    if (!(thread >> 32) || !wanted(TRACE_TIMER_START) || task->flags & KERNEL_THREAD ||
        (wheel && timer - (u64)task->stack >= KERNEL_STACK) || !followed(thread >> 32))
        return;
    struct trace_cpu *cpu = this_cpu();
    if (!cpu || cpu->context || shed_level(cpu) >= TRACE_SHED_SOCKETS_TIMERS)
        return;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return;
    begun(timer);
    struct trace_record *made = record(cpu, scratch, TRACE_TIMER_START, thread);
    if (made) {
        made->object = timer;
        made->argument[0] = expires;
        made->detail = wheel;
    }
    leave(cpu, scratch);
}

static __always_inline void timer_expires(u64 timer, s32 wheel) {
    struct trace_cpu *cpu = this_cpu();
    if (!cpu)
        return;
    cpu->context |= wheel ? TRACE_IN_TIMER : TRACE_IN_HRTIMER;
    cpu->expiring = timer;
    if (!wanted(TRACE_TIMER_EXPIRE) || !was_begun(timer))
        return;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return;
    struct trace_record *made = record(cpu, scratch, TRACE_TIMER_EXPIRE, whose(cpu, bpf_get_current_pid_tgid()));
    if (made) {
        made->object = timer;
        made->detail = wheel;
    }
    leave(cpu, scratch);
}

SEC("tp_btf/hrtimer_start")
int BPF_PROG(wp_hrtimer, struct hrtimer *timer) {
    timer_started((u64)timer, (u64)timer->_softexpires, 0);
    return 0;
}

SEC("tp_btf/timer_start")
int BPF_PROG(wp_timer, struct timer_list *timer) {
    timer_started((u64)timer, timer->expires, 1);
    return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(wp_hrtimer_in, struct hrtimer *timer) {
    timer_expires((u64)timer, 0);
    return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(wp_hrtimer_out) {
    out_of_context(TRACE_IN_HRTIMER);
    return 0;
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(wp_timer_in, struct timer_list *timer) {
    timer_expires((u64)timer, 1);
    return 0;
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(wp_timer_out) {
    out_of_context(TRACE_IN_TIMER);
    return 0;
}

#endif
