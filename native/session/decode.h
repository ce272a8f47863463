// Records of the raw log, turned into columns.
#ifndef WHYPERF_DECODE_H
#define WHYPERF_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/intern.h"
#include "session/records.h"

struct column {
    unsigned char *bytes;
    size_t size, capacity;
};

// Which row of the stacks a log file's stack id means.
struct id_entry {
    uint64_t id_plus_one; // 0: empty
    uint32_t row;
};

struct decoder {
    struct column time, owner, stack, weight, cut, clock, wait;
    struct column stack_ends; // into stacks.words
    // Packed values, each with the row of the sample it belongs to.
    struct column values_sample, values_ends, values;
    // What happened to memory, each with the row of the sample that says when and where.
    struct column memory_sample, memory;
    bool sample_before; // the record before this one, in the same chunk, was a sample
    struct intern stacks;
    struct id_entry *ids;
    size_t id_places, id_count;
    uint64_t damaged_bytes, stacks_missing;
};

// Takes every record that is neither a stack nor a sample; false stops the decoding.
typedef bool (*decode_other)(void *context, const struct whyperf_record *record);

void decoder_init(struct decoder *decoder);
void decoder_release(struct decoder *decoder);
void decoder_new_file(struct decoder *decoder);
bool decoder_add(struct decoder *decoder, int32_t owner, const void *records, size_t size, decode_other other,
                 void *context);

#endif
