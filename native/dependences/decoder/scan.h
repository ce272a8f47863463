// What a stream says beside its events: modules, sites, pairs, watches, how it ended.
#ifndef WHYPERF_DEPENDENCES_SCAN_H
#define WHYPERF_DEPENDENCES_SCAN_H

#include "dependences/decoder/column.h"
#include "dependences/decoder/reader.h"

struct scanned_module {
    const uint8_t *path, *build_id; // within the stream
    size_t path_length, build_id_length;
    uint64_t base, bias;
};

// The layouts of these three are known to Python.
struct scanned_site {
    uint32_t module;
    int32_t function;
    uint64_t address;
    uint16_t flags;
    uint8_t length, unused[5];
};

struct scanned_pair {
    uint32_t reader, writer;
    uint64_t loads;
};

struct scanned_watch {
    uint32_t watch, site, event, thread;
    uint64_t old_value, new_value;
};

struct scanned_unsupported {
    uint32_t module;
    uint64_t address;
    const uint8_t *bytes;
    size_t length;
};

struct scanned {
    struct column modules, sites, pairs, watches, unsupported;
    uint64_t events, producers, inexact[INEXACT_COUNT], instructions;
    uint32_t threads, thread, forks;
    bool damaged; // an event of a site that does not exist
    int ending;   // enum dependences_end, -1: cut
};

enum read_result scan(struct scanned *scanned, const uint8_t *stream, size_t length);
void scan_free(struct scanned *scanned);

// Skips the numbers of a record that the caller does not want; false: unknown.
bool record_skip(uint64_t record, struct bytes *bytes);

#endif
