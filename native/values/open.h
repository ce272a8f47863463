// A mapped variables table.
#ifndef WHYPERF_VALUES_OPEN_H
#define WHYPERF_VALUES_OPEN_H

#include <stdbool.h>
#include <stddef.h>

#include "values/table.h"

struct values_table {
    // What looking an address up needs, in one cache line.
    const struct values_segment *segments;
    const uint32_t *index;
    const uint64_t *plans;
    uint32_t segment_count, index_base, index_count, plan_words, first_address;
    // The rest.
    const struct values_table_file *header;
    const uint32_t *list;
    const struct values_location *locations;
    const struct values_field *fields;
    const uint32_t *globals;
    const struct values_call_site *call_sites;
    const struct values_call_parameter *call_parameters;
    const uint8_t *expressions;
};

// False for a file that is cut short or of another version. Contents are not looked at: that would take milliseconds
// inside the watched program, which needs plans only, and those are checked when they are found. Async-signal-safe.
bool values_table_map(const void *file, size_t size, struct values_table *table);

// False for a file that is damaged as well; then everything in it can be used without further checks.
bool values_table_open(const void *file, size_t size, struct values_table *table);

// Two steps to be taken well before values_plan_at, so that other memory can be waited for meanwhile.
void values_prefetch_index(const struct values_table *table, uint64_t address);
void values_prefetch_segments(const struct values_table *table, uint64_t address);

// What can be read at an ELF address; never NULL.
const struct values_segment *values_find(const struct values_table *table, uint64_t address);

// What to keep at an ELF address; NULL when nothing is to be read there.
const struct values_plan *values_plan_at(const struct values_table *table, uint64_t address);

static inline const struct values_item *values_items(const struct values_plan *plan) {
    return (const struct values_item *)(plan + 1);
}

// NULL when the call that returns there is not known.
const struct values_call_site *values_find_call(const struct values_table *table, uint64_t return_address);

#endif
