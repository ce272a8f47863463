// What the variables of a walked stack hold: gathered in the signal handler, packed for the ring.
#ifndef WHYPERF_VALUES_GATHER_H
#define WHYPERF_VALUES_GATHER_H

#include <sys/types.h>
#include <sys/uio.h>

#include "values/evaluate.h"

// Packed, for every frame with variables: u8 depth, u8 zero, u16 number of cells, a bit for every cell that could be
// read, and the readable cells' bytes. Cells are the locations of the frame's list, each followed by its fields; what
// they are and how long is the table's to say. Pointers into the thread's own stack are packed as class and distance
// from its upper end (VALUES_OWN_STACK), others as they are.
enum {
    VALUES_DEPTH_MAX = 16,
    VALUES_CELLS_MAX = 512,
    VALUES_FETCHES_MAX = 32,
    VALUES_FETCH_BYTES_MAX = 4096,
    VALUES_SPAN_MAX = 256, // how far behind a pointer fields are read
    VALUES_RECORD_BYTES_MAX = 6 * 1024,
};
#define VALUES_OWN_STACK ((uint64_t)3 << 56)

// Memory that is not known to be mapped, to be read by one system call for all.
struct values_fetch {
    uint64_t address;
    uint32_t size, at; // place in the buffer
    bool done;
};

// A cell that waits for a fetch.
struct values_pending {
    uint16_t cell, fetch;
    uint16_t offset;
    uint8_t size;
    const struct values_field *span; // NULL unless a SPAN
};

struct values_space {
    struct values_frame frames[VALUES_DEPTH_MAX + 1];
    uint64_t cells[VALUES_CELLS_MAX];
    uint8_t sizes[VALUES_CELLS_MAX]; // 0: not readable
    bool pointers[VALUES_CELLS_MAX];
    struct values_fetch fetches[VALUES_FETCHES_MAX];
    struct values_pending pending[VALUES_CELLS_MAX];
    struct iovec remote[VALUES_FETCHES_MAX];
    unsigned char fetched[VALUES_FETCH_BYTES_MAX];
};

struct values_source {
    pid_t pid;
    uint64_t stack_low, stack_high; // readable directly
    bool system_calls_allowed;
};

struct values_gathered {
    uint32_t bytes;
    uint32_t read;
    uint32_t unreadable; // cells that could not be read
};

// Packs the variables of frames [0, frame_count) into `out`, which has VALUES_RECORD_BYTES_MAX bytes.
struct values_gathered values_gather_in_signal(struct values_space *space, uint32_t frame_count,
                                               const struct values_source *source, unsigned char *out);

#endif
