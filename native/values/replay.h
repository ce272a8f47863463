// A record (record.h) made frames and memory again.
#ifndef WHYPERF_VALUES_REPLAY_H
#define WHYPERF_VALUES_REPLAY_H

#include "values/evaluate.h"
#include "values/record.h"
#include "values/unpack.h"

// Memory that the sample kept.
struct replay_piece {
    uint64_t address;
    uint32_t length;
    const unsigned char *bytes; // NULL: it was not there
};

enum { REPLAY_FRAMES = VALUES_DEPTH_MAX + 2, REPLAY_PIECES = 2048 };

struct replay {
    uint64_t stack_low, stack_high;
    struct values_frame frames[REPLAY_FRAMES]; // by depth; those without a table were not kept
    uint8_t flags[REPLAY_FRAMES];
    unsigned char vectors[32 * 16]; // of the innermost
    struct replay_piece pieces[REPLAY_PIECES];
    uint32_t piece_count;
};

// False when the record makes no sense.
bool replay_record(struct replay *replay, const unsigned char *packed, size_t size, const struct values_place *places,
                   uint32_t place_count);

// Bytes that the sample kept, wherever it did; a values_read_fn.
bool replay_read(void *replay, uint64_t address, void *bytes, size_t size);

#endif
