// Where the records of a perf.data file lie.
#ifndef WHYPERF_PERF_RECORDS_H
#define WHYPERF_PERF_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct offsets {
    uint64_t *at;
    size_t count, capacity;
};

struct found_records {
    struct offsets samples, others;
    size_t end; // where the last whole record ends: less than the data where that was cut short or makes no sense
};

// False without memory. The caller frees both lists.
bool find_records(const uint8_t *data, size_t start, size_t end, struct found_records *found);

#endif
