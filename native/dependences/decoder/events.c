#include "dependences/decoder/events.h"

#include <string.h>

struct decoding {
    struct event_columns *columns;
    struct regions *regions;
    uint64_t most, events, producers;
};

static bool on_event(void *context, const struct event *event) {
    struct decoding *decoding = context;
    // The scan stopped here: what follows is damaged.
    if (decoding->events == decoding->most)
        return false;
    struct event_columns *columns = decoding->columns;
    decoding->events = event->number;
    columns->site[event->number] = event->site;
    columns->join[event->number] = event->join;
    columns->region[event->number] = regions_event(decoding->regions, event);
    columns->first[event->number] = decoding->producers;
    for (uint32_t i = 0; i < event->count; i++) {
        columns->producers[decoding->producers] = event->number - event->producers[i];
        columns->kinds[decoding->producers++] = event->kinds[i];
    }
    return !decoding->regions->no_memory;
}

static bool on_record(void *context, uint64_t record, struct bytes *bytes) {
    struct decoding *decoding = context;
    return regions_record(decoding->regions, record, bytes, (uint32_t)decoding->events);
}

bool events_decode(struct event_columns *columns, struct regions *regions, const struct flow *flow,
                   const struct scanned *scanned, const uint8_t *stream, size_t length) {
    if (!regions_start(regions, flow, scanned))
        return false;
    columns->site[0] = columns->region[0] = columns->join[0] = 0;
    columns->first[0] = 0;
    struct decoding decoding = {.columns = columns, .regions = regions, .most = scanned->events};
    reader_walk(&(struct reader){&decoding, on_event, on_record}, stream, length);
    columns->first[decoding.events + 1] = decoding.producers;
    regions_finish(regions);
    return !regions->no_memory;
}
