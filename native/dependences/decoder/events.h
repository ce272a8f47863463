// Events and their producers as columns.
#ifndef WHYPERF_DEPENDENCES_DECODED_EVENTS_H
#define WHYPERF_DEPENDENCES_DECODED_EVENTS_H

#include "dependences/decoder/regions.h"

// With room for as many as `scanned` counted; row 0 is "no event".
struct event_columns {
    uint32_t *site, *region;
    uint8_t *join;
    uint64_t *first;
    uint32_t *producers;
    uint8_t *kinds;
};

// False: out of memory. `regions` is to be freed in either case.
bool events_decode(struct event_columns *columns, struct regions *regions, const struct flow *flow,
                   const struct scanned *scanned, const uint8_t *stream, size_t length);

#endif
