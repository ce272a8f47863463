// Page faults, locks within the kernel, locks on files.
#ifndef WHYPERF_TRACER_MEMORY_H
#define WHYPERF_TRACER_MEMORY_H

#include "bpf/scheduling.h"

static __always_inline void page_fault(u64 address, struct pt_regs *regs, s32 error) {
    u64 thread = bpf_get_current_pid_tgid();
    struct trace_cpu *cpu = this_cpu();
    if (!cpu || !wanted(TRACE_PAGE_FAULT) || shed_level(cpu) >= TRACE_SHED_FAULTS_LOCKS_WORK)
        return;
    struct party party = party_of(thread >> 32);
    struct trace_scratch *scratch = party.scope & TRACE_FOLLOWED ? enter(cpu) : NULL;
    if (!scratch)
        return;
    u32 stack = 0;
    if (settings.syscall_stacks && scratch->level < TRACE_SHED_QUICK_STACKS)
        stack = user_stack(cpu, scratch, regs, party.process, thread >> 32);
    struct task_struct *task = bpf_get_current_task_btf();
    struct trace_record *made = record(cpu, scratch, TRACE_PAGE_FAULT, thread);
    if (made) {
        made->detail = error;
        made->stack = stack;
        made->argument[0] = address;
        made->argument[1] = user_pc(regs);
        made->result = (s64)task->maj_flt;
    }
    leave(cpu, scratch);
}

#if TRACE_ON_AARCH64

// This machine's kernel has no tracepoint for them, only an event of perf, which does not tell what was to be done.
SEC("perf_event")
int wp_page_fault(struct bpf_perf_event_data *ctx) {
    if (interrupted_user(ctx))
        page_fault(ctx->addr, (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()), -1);
    return 0;
}

#else

SEC("tp_btf/page_fault_user")
int BPF_PROG(wp_page_fault, unsigned long address, struct pt_regs *regs, unsigned long error) {
    page_fault(address, regs, (s32)error);
    return 0;
}

#endif

// Of locks that a thread can sleep on; who merely spins waits for less than a record costs.
SEC("tp_btf/contention_begin")
int BPF_PROG(wp_contended, void *lock, unsigned int flags) {
    enum { SPIN = 1, MUTEX = 32 };
    u64 thread = bpf_get_current_pid_tgid();
    struct trace_cpu *cpu = this_cpu();
    if (((flags & SPIN) && !(flags & MUTEX)) || !cpu || !wanted(TRACE_CONTENTION_BEGIN) ||
        shed_level(cpu) >= TRACE_SHED_FAULTS_LOCKS_WORK || !(thread >> 32) || !followed(thread >> 32))
        return 0;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return 0;
    begun((u64)lock ^ thread << 32, 0);
    u32 frames = kernel_stack(ctx, cpu, scratch, FRAMES_OF_PROGRAM);
    struct trace_record *made = record(cpu, scratch, TRACE_CONTENTION_BEGIN, thread);
    if (made) {
        made->object = (u64)lock;
        made->detail = (s32)flags;
        made->kernel_stack = frames;
    }
    leave(cpu, scratch);
    return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(wp_contended_end, void *lock, int result) {
    u64 thread = bpf_get_current_pid_tgid();
    struct trace_cpu *cpu = this_cpu();
    u64 wait = (u64)lock ^ thread << 32;
    if (!cpu || !wanted(TRACE_CONTENTION_END) || !mark_of(wait))
        return 0;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return 0;
    ended(wait);
    struct trace_record *made = record(cpu, scratch, TRACE_CONTENTION_END, thread);
    if (made) {
        made->object = (u64)lock;
        made->result = result;
    }
    leave(cpu, scratch);
    return 0;
}

// Who holds the file lock that the current thread is about to wait for; its own switch and call tell it.
static __always_inline void lock_asked(struct file_lock *lock, int result) {
    enum { DEFERRED = 1 };
    u32 thread = (u32)bpf_get_current_pid_tgid(), holder = 0;
    if (!lock || result != DEFERRED)
        return;
    if (bpf_core_field_exists(lock->c)) {
        holder = (u32)BPF_CORE_READ(lock, c.flc_blocker, flc_pid);
    } else {
        struct file_lock___old *old = (void *)lock;
        holder = BPF_CORE_READ(old, fl_blocker, fl_pid);
    }
    bpf_map_update_elem(&wp_holders, &thread, &holder, BPF_ANY);
}

SEC("tp_btf/posix_lock_inode")
int BPF_PROG(wp_posix_lock, struct inode *inode, struct file_lock *lock, int result) {
    lock_asked(lock, result);
    return 0;
}

SEC("tp_btf/flock_lock_inode")
int BPF_PROG(wp_flock, struct inode *inode, struct file_lock *lock, int result) {
    lock_asked(lock, result);
    return 0;
}

#endif
