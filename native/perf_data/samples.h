// The samples of a perf.data file: found, decoded, their call chains interned.
#ifndef WHYPERF_PERF_SAMPLES_H
#define WHYPERF_PERF_SAMPLES_H

#include "session/intern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_header { // `struct perf_event_header` of linux/perf_event.h
    uint32_t type;
    uint16_t misc, size;
};

// How the samples of one event are laid out: what of `struct perf_event_attr` tells it.
struct sample_layout {
    uint64_t sample_type, read_format, branch_sample_type, user_registers;
};

// One sample, whatever its event. Offsets count from the first byte of the data; 0: the sample has none.
struct perf_sample {
    uint64_t time, ip, address, period;
    uint64_t raw, registers, memory; // tracepoint fields; user registers (behind their ABI); copied user stack
    uint32_t raw_size, memory_size;
    uint32_t pid, tid, cpu, event;     // event: its layout's number
    uint32_t user_stack, kernel_stack; // numbers of interned stacks, 0: none
    uint16_t misc;
    uint8_t abi, cut; // of the user registers; enum whyperf_cut of the unwound user stack
    uint32_t unused;
};
_Static_assert(sizeof(struct perf_sample) == 96, "the importer reads it as an array");

// Distinct stacks, innermost address first, numbered from 1: number n ends at seen.words[ends[n - 1]].
struct perf_stacks {
    struct intern seen;
    int64_t *ends;
    size_t count, capacity;
};

void perf_stacks_init(struct perf_stacks *stacks);
void perf_stacks_release(struct perf_stacks *stacks);
// The stack's number; 0 when it is empty. False without memory.
bool perf_stacks_add(struct perf_stacks *stacks, const uint64_t *pcs, uint32_t count, uint32_t *number);

// Which layout a sample has: ids and layouts in the order of the ids. Without ids all samples have the first one.
struct sample_events {
    const struct sample_layout *layouts;
    uint32_t layout_count;
    const uint64_t *ids;
    const uint32_t *events;
    size_t id_count;
};

enum decoded { DECODED, DECODED_FOREIGN /* of no known event */, DECODED_DAMAGED, DECODED_NO_MEMORY };

enum decoded decode_sample(const uint8_t *data, size_t at, const struct sample_events *events,
                           struct perf_stacks *stacks, struct perf_sample *sample);

#endif
