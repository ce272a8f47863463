#ifndef WHYPERF_TRACER_OPEN_H
#define WHYPERF_TRACER_OPEN_H

#include "tracer/tracer.h"

struct refused_programs {
    char names[TRACER_PROGRAMS][32];
    u32 count;
};

// Lets the program run at every period of a CPU's clock. NULL with errno; `why` then tells more.
struct bpf_link *attach_clock(const struct bpf_program *program, u32 cpu, u64 period, char why[TRACER_TEXT]);

// Where the programs' variables lie in their maps.
const struct trace_settings *tracer_settings(const void *rodata);
struct trace_globals *tracer_globals(void *bss);

#endif
