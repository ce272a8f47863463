// What the current thread is interrupted by. Only flags are kept; the events that follow carry them.
#ifndef WHYPERF_TRACER_INTERRUPTS_H
#define WHYPERF_TRACER_INTERRUPTS_H

#include "bpf/emit.h"

static __always_inline void in_context(u32 flag) {
    struct trace_cpu *cpu = this_cpu();
    if (cpu)
        cpu->context |= flag;
}

static __always_inline void out_of_context(u32 flag) {
    struct trace_cpu *cpu = this_cpu();
    if (cpu)
        cpu->context &= ~flag;
}

static __always_inline u32 softirq_flag(u32 vector) {
    enum { TIMER = 1, NET_TX, NET_RX, BLOCK, IRQ_POLL, TASKLET, SCHED, HRTIMER };
    switch (vector) {
    case TIMER:
    case HRTIMER:
        return TRACE_IN_TIMER;
    case NET_TX:
    case NET_RX:
        return TRACE_IN_NET_SOFTIRQ;
    case BLOCK:
        return TRACE_IN_BLOCK_SOFTIRQ;
    default:
        return TRACE_IN_OTHER_SOFTIRQ;
    }
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(wp_irq_entry) {
    in_context(TRACE_IN_HARD_IRQ);
    return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(wp_irq_exit) {
    out_of_context(TRACE_IN_HARD_IRQ);
    return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(wp_softirq_in, unsigned int vector) {
    in_context(softirq_flag(vector));
    return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(wp_softirq_out, unsigned int vector) {
    out_of_context(softirq_flag(vector));
    return 0;
}

#endif
