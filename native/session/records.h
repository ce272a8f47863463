// Whether a record is what it claims to be: producers can be killed, damaged or hostile.
#ifndef WHYPERF_RECORDS_H
#define WHYPERF_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/session.h"

// The chunks of the raw log.
#define CHUNK_MAGIC 0x31435057u // "WPC1"
enum { CHUNK_RING = 1, CHUNK_JSON = 2, CHUNK_BLOCKED = 3 };

struct chunk_header {
    uint32_t magic, kind, length, crc;
};

struct ring_header {
    uint32_t pid, tid;
    uint64_t sequence, start;
};

// Both look at `bytes_left` bytes at most; `record` must be aligned to 8 bytes.
bool record_is_sound_in_ring(const struct whyperf_record *record, size_t bytes_left);
bool record_is_sound_in_log(const struct whyperf_record *record, size_t bytes_left);

// The pcs that end a record, `skip` words after its header, without the zero that may fill it up.
struct pcs {
    const uint64_t *first;
    uint32_t count;
};
struct pcs record_pcs(const struct whyperf_record *record, uint32_t skip);

static inline size_t record_bytes(const struct whyperf_record *record) {
    return (size_t)record->words * 8;
}

static inline const void *record_payload(const struct whyperf_record *record) {
    return record + 1;
}

#endif
