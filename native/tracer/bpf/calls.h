// System calls: one record at their end, where the arguments still are what they were.
#ifndef WHYPERF_TRACER_CALLS_H
#define WHYPERF_TRACER_CALLS_H

#include "bpf/scheduling.h"

enum { PROTECTION_EXECUTE = 4 };

SEC("tp_btf/sys_enter")
int BPF_PROG(wp_sys_enter, struct pt_regs *regs, long number) {
    u64 thread = bpf_get_current_pid_tgid();
    if (!wanted(TRACE_SYSCALL_ENTER) || !scope_of(thread >> 32))
        return 0;
    struct trace_cpu *cpu = this_cpu();
    if (!cpu || shed_level(cpu) >= TRACE_SHED_QUICK_STACKS)
        return 0;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return 0;
    struct trace_record *made = record(cpu, scratch, TRACE_SYSCALL_ENTER, thread);
    if (made) {
        made->detail = (s32)number;
        load_call_arguments(made->argument, regs);
    }
    leave(cpu, scratch);
    return 0;
}

struct shared_word {
    u64 address;
    struct trace_object *about;
};

// A futex in a file or in shared memory is the same for all who map it, wherever they do.
static long name_shared_word(struct task_struct *task, struct vm_area_struct *area, struct shared_word *word) {
    enum { SHARED = 8 };
    (void)task;
    struct file *file = area->vm_file;
    if (!file || !(area->vm_flags & SHARED))
        return 0;
    word->about->object = file->f_inode->i_ino;
    word->about->peer = 1ull << 63 | ((area->vm_pgoff << settings.page_shift) + (word->address - area->vm_start));
    return 0;
}

static __always_inline bool call_shed(u32 level, u32 class) {
    return level >= TRACE_SHED_SYSCALLS || (level >= TRACE_SHED_INERT_SYSCALLS && class == CALL_INERT);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(wp_sys_exit, struct pt_regs *regs, long result) {
    enum { FUTEX_PRIVATE = 128 };
    struct trace_cpu *cpu = this_cpu();
    u32 class = call_class(call_number(regs));
    u64 thread = bpf_get_current_pid_tgid(), kept = end_of_call((u32)thread);
    u32 pid = thread >> 32;
    if (!cpu || !globals.running)
        return 0;
    u32 level = shed_level(cpu);
    bool quick = class == CALL_INERT || was_quick(cpu, (u32)thread);
    bool shed = call_shed(level, class);
    if (shed && class != CALL_MAP)
        return 0;
    struct party party = party_of(pid);
    if (!party.scope)
        return 0;
    if (quick && level >= TRACE_SHED_QUICK_SYSCALLS && can_be_quick(class)) {
        count(cpu, TRACE_COUNT_QUICK_CALLS);
        return 0;
    }
    struct under_way now = {};
    load_call(&now.call, regs);
    bool maps_code = class == CALL_MAP && now.call.argument[2] & PROTECTION_EXECUTE && (u64)result < -4095ull;
    bool recorded = wanted(TRACE_SYSCALL) && !shed;
    if (!maps_code && !recorded)
        return 0;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return 0;
    if (maps_code)
        notify(cpu, scratch->time, TRACE_NOTICE_MAP, pid, (u64)result);
    if (recorded) {
        u32 stack = 0;
        struct task_struct *task = bpf_get_current_task_btf();
        u32 without = quick ? TRACE_SHED_QUICK_STACKS : TRACE_SHED_SYSCALL_STACKS;
        if (settings.syscall_stacks && scratch->level < without)
            stack = stack_of_call(cpu, scratch, regs, party.process, thread, kept);
        now.extra = call_object(task, &now.call, true, &now.about);
        if (now.call.class == CALL_FUTEX && !(now.call.argument[1] & FUTEX_PRIVATE)) {
            struct shared_word word = {now.call.argument[0], &now.about};
            bpf_find_vma(task, word.address, name_shared_word, &word, 0);
        }
        struct trace_record *made = record(cpu, scratch, TRACE_SYSCALL, thread);
        if (made) {
            put(made, &now);
            made->stack = stack;
            made->result = result;
        }
    }
    leave(cpu, scratch);
    return 0;
}

#endif
