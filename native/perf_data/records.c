#include "perf_data/records.h"
#include "perf_data/samples.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

// perf's own records, not the kernel's: these two are followed by more than their header says.
enum { TRACING_DATA = 66, AUXTRACE = 71 };

static bool add(struct offsets *offsets, size_t at) {
    if (offsets->count == offsets->capacity) {
        size_t capacity = 2 * offsets->capacity + 4096;
        uint64_t *larger = realloc(offsets->at, capacity * sizeof *larger);
        if (!larger)
            return false;
        offsets->at = larger;
        offsets->capacity = capacity;
    }
    offsets->at[offsets->count++] = at;
    return true;
}

// What follows a record beyond its own size; SIZE_MAX where the record is too short to tell.
static uint64_t appended(const uint8_t *record, const struct perf_header *header) {
    uint32_t length;
    uint64_t size;
    switch (header->type) {
    case TRACING_DATA:
        if (header->size < sizeof *header + sizeof length)
            return UINT64_MAX;
        memcpy(&length, record + sizeof *header, sizeof length);
        return ((uint64_t)length + 7) & ~7ull;
    case AUXTRACE:
        if (header->size < sizeof *header + sizeof size)
            return UINT64_MAX;
        memcpy(&size, record + sizeof *header, sizeof size);
        return size;
    default:
        return 0;
    }
}

bool find_records(const uint8_t *data, size_t start, size_t end, struct found_records *found) {
    struct perf_header header;
    *found = (struct found_records){.end = start};
    while (end - found->end >= sizeof header) {
        size_t at = found->end;
        memcpy(&header, data + at, sizeof header);
        if (header.size < sizeof header || header.size > end - at)
            break;
        uint64_t more = appended(data + at, &header);
        if (more > end - at - header.size)
            break;
        if (!add(header.type == PERF_RECORD_SAMPLE ? &found->samples : &found->others, at))
            return false;
        found->end += header.size + more;
    }
    return true;
}
