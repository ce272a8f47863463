// Writing records: a ring a CPU, overwritten from its start; nobody is waited for.
//
// Programs nest on a CPU (an interrupt traces while a system call is traced), strictly last in, first out. What they
// write becomes readable when the outermost has left, so that a reader never sees half a record, and records that were
// published in two steps are still in order of time once each step is sorted.
#ifndef WHYPERF_TRACER_EMIT_H
#define WHYPERF_TRACER_EMIT_H

#include "bpf/governor.h"

static __always_inline bool wanted(u32 kind) {
    return globals.running && (settings.kinds >> kind & 1);
}

static __always_inline void count(struct trace_cpu *cpu, u32 counter) {
    if (counter < TRACE_COUNTERS)
        __sync_fetch_and_add(&cpu->counters[counter], 1);
}

static __always_inline struct trace_cpu *this_cpu(void) {
    u32 number = bpf_get_smp_processor_id();
    return bpf_map_lookup_elem(&wp_cpus, &number);
}

static __always_inline u32 shed_level(const struct trace_cpu *cpu) {
    return cpu->level > settings.shed_floor ? cpu->level : settings.shed_floor;
}

// Every path that enters must leave.
static __always_inline struct trace_scratch *enter(struct trace_cpu *cpu) {
    u32 nesting = cpu->nesting;
    if (nesting >= TRACE_NESTING) {
        count(cpu, TRACE_COUNT_TOO_DEEP_NESTING);
        return NULL;
    }
    cpu->nesting = nesting + 1;
    struct trace_scratch *scratch = &cpu->scratch[nesting];
    scratch->time = bpf_ktime_get_ns();
    scratch->level = shed_level(cpu);
    scratch->cpu = bpf_get_smp_processor_id();
    return scratch;
}

static __always_inline void leave(struct trace_cpu *cpu, struct trace_scratch *scratch) {
    u32 nesting = cpu->nesting - 1;
    govern(cpu, scratch->cpu, scratch->time);
    if (nesting == 0) {
        publish(&cpu->stack_committed, cpu->stack_head);
        publish(&cpu->committed, cpu->head);
    }
    barrier();
    cpu->nesting = nesting;
}

static __always_inline struct trace_record *next_slot(struct trace_cpu *cpu, u32 number) {
    u64 slots = settings.ring_slots;
    u64 lap = cpu->lap;
    s64 slot = (s64)(__sync_fetch_and_add(&cpu->head, 1) - lap);
    // An interrupt may have gone on to the next lap in between; it stored the same value that is stored here.
    if (slot >= (s64)slots) {
        slot -= (s64)slots;
        cpu->lap = lap + slots;
    } else if (slot < 0) {
        slot += (s64)slots;
    }
    u32 key = (u32)(number * slots + (u64)slot);
    return bpf_map_lookup_elem(&wp_ring, &key);
}

// A record of which everything that is not given is 0; NULL never happens but must be checked.
static __always_inline struct trace_record *record(struct trace_cpu *cpu, struct trace_scratch *scratch, u8 kind,
                                                   u64 thread) {
    struct trace_record *record = next_slot(cpu, scratch->cpu);
    if (!record)
        return NULL;
    record->time = scratch->time;
    record->tid = (u32)thread;
    record->pid = (u32)(thread >> 32);
    record->kind = kind;
    record->context = (u8)cpu->context;
    record->cpu = (u16)scratch->cpu;
    record->detail = -1;
    record->stack = 0;
    record->kernel_stack = 0;
    record->other = 0;
    record->object = 0;
    record->peer = 0;
    record->argument[0] = 0;
    record->argument[1] = 0;
    record->argument[2] = 0;
    record->result = 0;
    record->extra = 0;
    return record;
}

static __always_inline u64 thread_of(const struct task_struct *task) {
    return (u64)(u32)task->tgid << 32 | (u32)task->pid;
}

#endif
