// Who is recorded. With scope "all" everybody but the tracer; else the followed processes and those that they met:
// who woke one of theirs or was woken by one. Those whom the met ones meet are not recorded in turn.
#ifndef WHYPERF_TRACER_SCOPE_H
#define WHYPERF_TRACER_SCOPE_H

#include "bpf/emit.h"

static __always_inline struct trace_process *process_of(u32 pid) {
    return bpf_map_lookup_elem(&wp_processes, &pid);
}

// A process and why it is recorded. Looking it up is a good part of what a small event costs: it is done once, and with
// scope "all" not before something else is asked.
struct party {
    struct trace_process *process;
    u32 scope;
};

static __always_inline struct party party_of(u32 pid) {
    struct party party = {};
    if (settings.scope == TRACE_SCOPE_ALL) {
        party.scope = pid == settings.self ? 0 : TRACE_FOLLOWED;
    } else if (pid && pid != settings.self) {
        party.process = process_of(pid);
        if (party.process)
            party.scope = party.process->scope & (TRACE_FOLLOWED | TRACE_MET);
    }
    return party;
}

static __always_inline u32 scope_of(u32 pid) {
    return party_of(pid).scope;
}

// What tells how a process spends its time, not whom it deals with, is recorded of the followed ones only.
static __always_inline bool followed(u32 pid) {
    return scope_of(pid) & TRACE_FOLLOWED;
}

// The idle task's and the tracer's switches are recorded with scope "all": CPUs have no gaps.
static __always_inline bool switches_recorded(struct party party) {
    return settings.scope == TRACE_SCOPE_ALL || party.scope;
}

static __always_inline bool switch_recorded(u32 pid) {
    return switches_recorded(party_of(pid));
}

static __always_inline void notify(struct trace_cpu *cpu, u64 time, u32 kind, u32 pid, u64 address) {
    struct trace_notice *notice = bpf_ringbuf_reserve(&wp_notices, sizeof *notice, 0);
    if (!notice) {
        count(cpu, TRACE_COUNT_NOTICES_LOST);
        return;
    }
    notice->time = time;
    notice->kind = kind;
    notice->pid = pid;
    notice->address = address;
    bpf_ringbuf_submit(notice, 0);
}

static __always_inline void meet(struct trace_cpu *cpu, u64 time, struct party party, u32 pid) {
    if (party.scope || !pid || pid == settings.self || globals.met >= settings.met_limit)
        return;
    if (party.process) {
        party.process->scope |= TRACE_MET;
    } else {
        struct trace_process added = {.scope = TRACE_MET};
        if (bpf_map_update_elem(&wp_processes, &pid, &added, BPF_NOEXIST))
            return;
    }
    __sync_fetch_and_add(&globals.met, 1);
    notify(cpu, time, TRACE_NOTICE_MET, pid, 0);
}

// In these the current thread is whoever happened to run. Network softirqs are not among them: what is sent over
// loopback arrives in one, within the sender's system call.
enum {
    BY_CHANCE = TRACE_IN_HARD_IRQ | TRACE_IN_HRTIMER | TRACE_IN_TIMER | TRACE_IN_BLOCK_SOFTIRQ | TRACE_IN_OTHER_SOFTIRQ,
};

// Who an event is told of: with a scope a thread that merely happened to run is nobody's business.
static __always_inline u64 whose(const struct trace_cpu *cpu, u64 thread) {
    bool concerned = settings.scope == TRACE_SCOPE_ALL || !(cpu->context & BY_CHANCE) || scope_of(thread >> 32);
    return concerned ? thread : 0;
}

// Something begun by a recorded thread: its end, which may come on anybody's behalf, is recorded too.
static __always_inline void begun(u64 object, u64 mark) {
    bpf_map_update_elem(&wp_begun, &object, &mark, BPF_ANY);
}

static __always_inline u64 *mark_of(u64 object) {
    return bpf_map_lookup_elem(&wp_begun, &object);
}

static __always_inline bool ended(u64 object) {
    return bpf_map_delete_elem(&wp_begun, &object) == 0;
}

#endif
