// Room for the mappings of processes, shared between a process and the children it forked.
#ifndef WHYPERF_TRACER_EXTENTS_H
#define WHYPERF_TRACER_EXTENTS_H

#include "tracer/tracer.h"

// Room for `mappings` of them behind a header, referred to once; NULL if there is none.
struct extent *extent_take(struct tracer *tracer, u32 mappings);
// Fills it and makes it valid. Returns its generation.
u32 extent_fill(struct tracer *tracer, const struct extent *extent, const struct trace_mapping *mappings, u32 count);
void extent_drop(struct tracer *tracer, struct extent *extent);
void extents_clear(struct module_server *server);

#endif
