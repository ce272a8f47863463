// What was lost, cut and shed, by name.
#ifndef WHYPERF_TRACER_COUNTERS_H
#define WHYPERF_TRACER_COUNTERS_H

#include "tracer/tracer.h"

struct named_count {
    const char *name;
    u64 count;
};

enum { NAMED_COUNTS = 32 };

// Returns how many were filled in.
u32 tracer_counters(const struct tracer *tracer, struct named_count counts[NAMED_COUNTS]);

#endif
