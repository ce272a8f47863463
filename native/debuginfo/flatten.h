// Overlapping and nested address ranges into disjoint segments.
#ifndef WHYPERF_DEBUGINFO_FLATTEN_H
#define WHYPERF_DEBUGINFO_FLATTEN_H

#include "debuginfo/column.h"

struct range {
    uint64_t low, high; // high is the first address after it
    int32_t owner;
    int32_t rank; // where ranges overlap, the highest rank shows; among equals the one that starts or comes last
};

struct segment {
    uint64_t start;
    int32_t owner; // -1: a gap
};

// Sorts `ranges` in place and appends segments, sorted by start and without equal neighbours.
void flatten(struct range *ranges, size_t count, struct column *segments);

#endif
