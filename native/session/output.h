// Chunks of the raw log that are gathered before they are written at once.
#ifndef WHYPERF_OUTPUT_H
#define WHYPERF_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/records.h"

// What writing the output will have consumed.
struct consumed {
    uint32_t slot;
    uint64_t head;
    uint64_t damaged; // bytes that made no sense
};

struct output {
    unsigned char *bytes;
    size_t size, capacity;
    size_t repeated; // its first bytes repeat what is known
    struct consumed *consumed;
    size_t consumed_count;
    uint64_t records;
};

bool output_reserve(struct output *output, size_t more);
void output_append(struct output *output, const void *bytes, size_t size); // room must have been reserved
void output_clear(struct output *output);
bool output_write(const struct output *output, int fd);

// A chunk: begin, append records, end. One without records leaves no trace.
size_t chunk_begin(struct output *output, const struct ring_header *owner);
void chunk_end(struct output *output, size_t at);

#endif
