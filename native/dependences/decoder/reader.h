// Walks a stream's records in order and hands each to whoever asked for it.
#ifndef WHYPERF_DEPENDENCES_READER_H
#define WHYPERF_DEPENDENCES_READER_H

#include "dependences/decoder/bytes.h"
#include "dependences/stream.h"

// The kinds of producers are enum dependences_producer. `producers` are distances; the reader has checked that each
// is at least 1 and no larger than the event's number - 1.
struct event {
    uint32_t number, site;
    bool join;
    uint32_t count;
    const uint32_t *producers;
    const uint8_t *kinds;
};

enum read_result { READ_WHOLE, READ_CUT, READ_NO_STREAM, READ_NO_MEMORY };

struct reader {
    void *context;
    // Both return false when out of memory.
    bool (*on_event)(void *context, const struct event *event);
    // Reads the record's numbers from `bytes`.
    bool (*on_record)(void *context, uint64_t record, struct bytes *bytes);
};

enum read_result reader_walk(const struct reader *reader, const uint8_t *stream, size_t length);

#endif
