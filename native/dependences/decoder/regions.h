// The region tree: activations, loop instances, iterations and branch arms, opened and closed as events pass by.
//
// Control dependence as a tree instead of a graph (compare Xin, Sumner and Zhang, "Efficient program execution
// indexing", PLDI 2008): what encloses an event is what had to be decided for it to happen, and iterations are
// siblings.
#ifndef WHYPERF_DEPENDENCES_REGIONS_H
#define WHYPERF_DEPENDENCES_REGIONS_H

#include "dependences/decoder/column.h"
#include "dependences/decoder/reader.h"
#include "dependences/decoder/scan.h"

enum region_kind {
    REGION_ROOT,
    REGION_ACTIVATION,
    REGION_LOOP,
    REGION_ITERATION,
    REGION_ARM,
    REGION_THREAD,
    REGION_SIGNAL,
};

// What the caller knows of the program's graph; stream.h describes it. All NULL: activations only.
struct flow {
    const int32_t *site_block;
    const uint8_t *site_head;
    const int32_t *block_ipdom, *block_loop;
    const uint8_t *block_branch;
    const int32_t *loop_header, *loop_parent;
    size_t blocks, loops;
};

// The layouts of these two are known to Python.
struct region {
    uint32_t parent;
    int32_t place, arm;
    uint32_t event, thread, first;
    uint64_t instructions, began;
    uint8_t kind, unused[7];
};

struct heap_call {
    int32_t function;
    uint32_t thread, region, event;
    uint64_t argument0, argument1, caller, result;
    uint8_t returned, unused[7];
};

struct regions {
    const struct flow *flow;
    const struct scanned *scanned;
    struct column regions, heap, threads;
    uint32_t thread; // runs
    bool no_memory;
};

// False: the flow's numbers lead out of its arrays.
bool flow_is_sound(const struct flow *flow, size_t sites);

bool regions_start(struct regions *regions, const struct flow *flow, const struct scanned *scanned);
void regions_free(struct regions *regions);
// The region that the event belongs to.
uint32_t regions_event(struct regions *regions, const struct event *event);
bool regions_record(struct regions *regions, uint64_t record, struct bytes *bytes, uint32_t events);
void regions_finish(struct regions *regions);

#endif
