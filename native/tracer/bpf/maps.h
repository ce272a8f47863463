// Where everything is kept. Sizes marked 1 are set by the loader.
#ifndef WHYPERF_TRACER_MAPS_H
#define WHYPERF_TRACER_MAPS_H

#include "bpf/machine.h"
#include "tracer/shared.h"

const volatile struct trace_settings settings = {};

struct trace_globals globals = {};

#define SHARED_ARRAY(name, element, count)                                                                             \
    struct {                                                                                                           \
        __uint(type, BPF_MAP_TYPE_ARRAY);                                                                              \
        __uint(map_flags, BPF_F_MMAPABLE);                                                                             \
        __uint(max_entries, count);                                                                                    \
        __type(key, u32);                                                                                              \
        __type(value, element);                                                                                        \
    } name SEC(".maps")

SHARED_ARRAY(wp_ring, struct trace_record, 1);
SHARED_ARRAY(wp_cpus, struct trace_cpu, 1);
SHARED_ARRAY(wp_pages, struct trace_stack_page, 1);
SHARED_ARRAY(wp_interned, struct trace_interned_set, 1);
SHARED_ARRAY(wp_shed, struct trace_shed_change, TRACE_SHED_LOG);
SHARED_ARRAY(wp_rules, struct trace_rule, TRACE_RULES);
SHARED_ARRAY(wp_mappings, struct trace_mapping, TRACE_MAPPINGS);

SHARED_ARRAY(wp_call_stacks, struct trace_call_stack, TRACE_CALL_STACKS);

// Rows of all modules, in chunks that the loader adds as modules appear.
struct trace_chunk {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, TRACE_CHUNK_ENTRIES);
    __type(key, u32);
    __type(value, u64);
};
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, TRACE_CHUNKS);
    __type(key, u32);
    __array(values, struct trace_chunk);
} wp_chunks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, TRACE_PROCESSES);
    __type(key, u32);
    __type(value, struct trace_process);
} wp_processes SEC(".maps");

// Timers, work items, requests and locks whose beginning was recorded: their end is recorded too.
// The value is when a timer on a stack expires: another one may lie at the same address later.
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, u64);
    __type(value, u64);
} wp_begun SEC(".maps");

// By thread: the process that held the file lock that it last waited for.
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, u32);
    __type(value, u32);
} wp_holders SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 18);
} wp_notices SEC(".maps");

// Records of tasks, and the functions that some were put with, by process.
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} wp_tasks SEC(".maps");

struct task_function {
    u64 address;
    u64 pid;
};
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, struct task_function);
    __type(value, u8);
} wp_functions SEC(".maps");

#endif
