// A thread's user stack stays as it is while a system call goes on: what a switch or a waking within the call walked
// is not walked again at its end.
#ifndef WHYPERF_TRACER_CALL_STACKS_H
#define WHYPERF_TRACER_CALL_STACKS_H

#include "bpf/unwind.h"

static __always_inline struct trace_call_stack *call_stack_slot(u32 tid) {
    u32 key = tid & (TRACE_CALL_STACKS - 1);
    return bpf_map_lookup_elem(&wp_call_stacks, &key);
}

static __always_inline u64 call_place(const struct pt_regs *regs, u32 tid) {
    return mixed(mix(mix(tid, user_pc(regs)), user_sp(regs)));
}

// The user stack of `task`, the current one, remembered until its system call ends; outside of calls it changes.
static __always_inline u32 stack_in_call(struct trace_cpu *cpu, struct trace_scratch *scratch, struct pt_regs *regs,
                                         struct trace_process *process, const struct task_struct *task) {
    u32 tid = (u32)task->pid, stack = user_stack(cpu, scratch, regs, process, (u32)task->tgid);
    struct trace_call_stack *slot = call_stack_slot(tid);
    if (slot && scratch->kept && call_number(regs) >= 0) {
        slot->data = 0;
        barrier();
        slot->check = call_place(regs, tid) ^ scratch->kept;
        barrier();
        slot->data = scratch->kept;
    }
    return stack;
}

// What was remembered, as in struct trace_interned; 0 if nothing was. Asked at every end of a call: that of an earlier
// one must not be taken for this one's.
static __always_inline u64 end_of_call(u32 tid) {
    struct trace_call_stack *slot = call_stack_slot(tid);
    u64 data = slot ? slot->data : 0;
    if (data)
        slot->data = 0;
    return data;
}

// The user stack at the end of a call of the current thread, of which `kept` was remembered.
static __always_inline u32 stack_of_call(struct trace_cpu *cpu, struct trace_scratch *scratch, struct pt_regs *regs,
                                         struct trace_process *process, u64 thread, u64 kept) {
    struct trace_call_stack *slot = kept ? call_stack_slot((u32)thread) : NULL;
    if (slot && (slot->check ^ kept) == call_place(regs, (u32)thread) && still_kept(kept)) {
        count(cpu, TRACE_COUNT_STACKS);
        count(cpu, TRACE_COUNT_STACKS_AGAIN);
        return (u32)(kept >> 32);
    }
    return user_stack(cpu, scratch, regs, process, thread >> 32);
}

#endif
