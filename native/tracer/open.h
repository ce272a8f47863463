#ifndef WHYPERF_TRACER_OPEN_H
#define WHYPERF_TRACER_OPEN_H

#include "tracer/tracer.h"

struct refused_programs {
    char names[TRACER_PROGRAMS][32];
    u32 count;
};

// What the kernel counts on each CPU.
struct counted_event {
    const char *name;
    u64 config; // enum perf_sw_ids
    u64 period;
};

// Lets the program run at every period of a CPU's events. NULL with errno; `why` then tells more.
struct bpf_link *attach_event(const struct bpf_program *program, u32 cpu, const struct counted_event *event,
                              char why[TRACER_TEXT]);

struct watched_flag {
    u64 address, length; // 1, 2, 4 or 8 bytes
    bool reads;          // as well as writes
};

// Records every access that the thread makes. 0 or an errno.
int watch_flag(struct tracer *tracer, pid_t thread, const struct watched_flag *flag);

// A descriptor that keeps a probe at a place in a file, in one process or, if that is -1, in all; or -errno. The
// program's descriptor is closed.
int probe_tasks(int program, pid_t process, const char *path, u64 offset, u64 cookie);

// Where the programs' variables lie in their maps.
const struct trace_settings *tracer_settings(const void *rodata);
struct trace_globals *tracer_globals(void *bss);

#endif
