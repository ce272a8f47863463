// Timers that threads wait for: those on a thread's kernel stack (sleeps, and waits with a time limit) and those that a
// system call is asked to set. The rest, the scheduler's and the network's, is the kernel's own business.
#ifndef WHYPERF_TRACER_TIMERS_H
#define WHYPERF_TRACER_TIMERS_H

#include "bpf/interrupts.h"
#include "bpf/scope.h"

#include <asm/unistd.h>

static __always_inline bool sets_timer(const struct pt_regs *regs) {
    switch (call_number(regs)) {
    case __NR_timerfd_settime:
    case __NR_timer_settime:
    case __NR_setitimer:
#ifdef __NR_alarm
    case __NR_alarm:
#endif
        return true;
    default:
        return false;
    }
}

static __always_inline bool lies_on_stack(u64 address, const struct task_struct *task) {
    enum { KERNEL_STACK = 1 << 14 };
    u64 low = (u64)task->stack, high = low + KERNEL_STACK;
    // Compared, not subtracted: older verifiers do not let pointers be reckoned with.
    barrier_var(low);
    barrier_var(high);
    return address >= low && address < high;
}

static __always_inline void timer_started(u64 timer, u64 expires, s32 wheel) {
    u64 thread = bpf_get_current_pid_tgid();
    struct task_struct *task = bpf_get_current_task_btf();
    if (!(thread >> 32) || !wanted(TRACE_TIMER_START) || task->flags & KERNEL_THREAD)
        return;
    bool on_stack = lies_on_stack(timer, task);
    if ((!on_stack && (wheel || !sets_timer((struct pt_regs *)bpf_task_pt_regs(task)))) || !followed(thread >> 32))
        return;
    struct trace_cpu *cpu = this_cpu();
    if (!cpu || cpu->context || shed_level(cpu) >= TRACE_SHED_SOCKETS_TIMERS)
        return;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return;
    begun(timer, on_stack ? expires : 0);
    struct trace_record *made = record(cpu, scratch, TRACE_TIMER_START, thread);
    if (made) {
        made->object = timer;
        made->argument[0] = expires;
        made->detail = wheel;
    }
    leave(cpu, scratch);
}

// Whether it is the one that was recorded; a thread waits for a timer on its stack but once.
static __always_inline bool expected(u64 timer, u64 expires) {
    u64 *mark = mark_of(timer);
    if (!mark || (*mark && *mark != expires))
        return false;
    if (*mark)
        ended(timer);
    return true;
}

static __always_inline void timer_expires(u64 timer, u64 expires, s32 wheel) {
    struct trace_cpu *cpu = this_cpu();
    if (!cpu)
        return;
    cpu->context |= wheel ? TRACE_IN_TIMER : TRACE_IN_HRTIMER;
    cpu->expiring = timer;
    if (!wanted(TRACE_TIMER_EXPIRE) || !expected(timer, expires))
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
    timer_expires((u64)timer, (u64)timer->_softexpires, 0);
    return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(wp_hrtimer_out) {
    out_of_context(TRACE_IN_HRTIMER);
    return 0;
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(wp_timer_in, struct timer_list *timer) {
    timer_expires((u64)timer, timer->expires, 1);
    return 0;
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(wp_timer_out) {
    out_of_context(TRACE_IN_TIMER);
    return 0;
}

#endif
