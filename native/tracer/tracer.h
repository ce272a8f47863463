// The loader's side of a tracer: programs loaded and attached, the memory that it shares with them mapped.
#ifndef WHYPERF_TRACER_H
#define WHYPERF_TRACER_H

#include "stacks/process.h"
#include "tracer/shared.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdbool.h>

enum { TRACER_TEXT = 512, TRACER_PROGRAMS = 48 };

// One of the maps in shared memory.
struct shared_map {
    int fd;
    void *memory;
    size_t size;
};

enum tracer_map {
    IN_RING,
    IN_CPUS,
    IN_PAGES,
    IN_INTERNED,
    IN_SHED,
    IN_RULES,
    IN_MAPPINGS,
    IN_GLOBALS,
    IN_SETTINGS,
    MAPPED_MAPS, // up to here they are mapped
    IN_CHUNKS = MAPPED_MAPS,
    IN_PROCESSES,
    IN_BEGUN,
    IN_HOLDERS,
    IN_NOTICES,
    IN_TASKS,
    TRACER_MAPS,
};

struct absent_program {
    const char *name; // of what it records
    char why[TRACER_TEXT];
};

struct cpu_position {
    u64 record; // next to be read
    u64 stack;  // byte
};

struct row_chunk {
    int fd;
    union trace_entry *entries;
};

struct installed_part {
    u32 from, to; // ELF virtual addresses
    u32 chunk, first, first_bucket, buckets;
};

struct installed_table {
    const struct module_table *table;
    struct installed_part *parts;
    u32 part_count;
    struct installed_table *next;
};

struct extent {
    u32 first, class, references;
    u64 freed;
    struct extent *next;
};

enum { EXTENT_CLASSES = 17, PROCESS_BUCKETS = 1024, RULE_SLOTS = 2 * TRACE_RULES };

// A process whose modules were made known to the programs.
struct served_process {
    struct process modules; // its list pointer is not used
    struct extent *extent;
    u32 patience;
    struct served_process *next;
};

// What became of one or several notices about a process.
struct served {
    u64 time;
    u64 order; // of arrival
    u32 kind;  // enum trace_notice_kind, of the last one
    u32 pid;
    u32 child;                          // of a fork
    bool urgent;                        // a followed process
    int error;                          // why its mappings could not be read
    const struct served_process *known; // its modules, if they were read
};

struct served_list {
    struct served *items;
    u32 count, capacity;
};

struct module_server {
    struct table_store tables;
    struct installed_table *installed;
    struct served_process *processes[PROCESS_BUCKETS];
    struct extent *free[EXTENT_CLASSES];
    struct row_chunk chunks[TRACE_CHUNKS];
    u32 rule_slots[RULE_SLOTS]; // number of a rule + 1, by hash
    u64 modules_without_room, rules_without_room, mappings_without_room, unreadable_processes;
};

// Of tasks, as they came; not yet asked for.
struct task_records {
    struct trace_record *items;
    u32 count, capacity;
};

struct tracer {
    struct bpf_link **links;
    u32 link_count;
    int program_fds[TRACER_PROGRAMS];
    u32 program_count;
    int flag_program; // descriptor of the program at watched variables
    int task_program; // and of the one at functions of task queues
    int *flag_links;
    u32 flag_count;
    struct shared_map maps[TRACER_MAPS];
    struct trace_globals *globals;
    const struct trace_settings *settings;
    struct absent_program absent[TRACER_PROGRAMS];
    u32 absent_count;
    struct cpu_position *positions;
    u64 records_lost, stack_bytes_lost, stacks_received;
    u8 *received; // bit per stack number
    u64 received_size;
    struct ring_buffer *notices;
    struct served_list pending; // notices that wait for their answer
    struct task_records tasks;
    u64 notices_lost; // when last looked at
    bool pinned;
    struct module_server server;
};

struct tracer_options {
    struct trace_settings settings;
    u64 ring_bytes, stack_bytes;
    bool paused;
    char without[256]; // tracepoints to do without, each between commas
};

// All functions return 0 or an errno; `text` then says more.

// Loads and attaches everything that this kernel allows.
int tracer_open(struct tracer *tracer, const struct tracer_options *options, char text[TRACER_TEXT]);
// Maps what has a descriptor already, however it was come by.
int tracer_map_shared(struct tracer *tracer, char text[TRACER_TEXT]);
void tracer_close(struct tracer *tracer);
void tracer_unmap(struct tracer *tracer);
// Takes over the descriptor of a program, to ask it for missed runs; a second one of the same program is closed.
void tracer_keep_program(struct tracer *tracer, int fd);

int tracer_pin(struct tracer *tracer, const char *folder, char text[TRACER_TEXT]);
int tracer_open_pinned(struct tracer *tracer, const char *folder, char text[TRACER_TEXT]);
int tracer_unpin(const char *folder);

const char *tracer_map_name(enum tracer_map map);
static inline struct trace_cpu *tracer_cpu(const struct tracer *tracer, u32 number) {
    return (struct trace_cpu *)tracer->maps[IN_CPUS].memory + number;
}

#endif
