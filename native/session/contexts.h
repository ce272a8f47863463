// The calling-context tree: stacks that begin alike share their beginning.
#ifndef WHYPERF_CONTEXTS_H
#define WHYPERF_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct contexts {
    int32_t *parents, *frames; // a node each, parents before children
    size_t count, capacity;
    int32_t *table; // node + 1 by (parent, frame), 0: empty
    size_t places;
};

// The node of the stack whose `count` frames are given innermost first, negative ones passed over; -1 when none is
// left, -2 when memory ran out.
int32_t contexts_add(struct contexts *contexts, const int32_t *frames, size_t count);
void contexts_release(struct contexts *contexts);

#endif
