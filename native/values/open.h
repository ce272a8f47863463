// A mapped variables table, checked once so that reading it needs no more checks.
#ifndef WHYPERF_VALUES_OPEN_H
#define WHYPERF_VALUES_OPEN_H

#include <stdbool.h>
#include <stddef.h>

#include "values/table.h"

struct values_table {
    const struct values_table_file *header;
    const struct values_segment *segments;
    const uint32_t *index;
    const uint32_t *list;
    const struct values_location *locations;
    const struct values_field *fields;
    const uint32_t *globals;
    const struct values_call_site *call_sites;
    const struct values_call_parameter *call_parameters;
    const uint8_t *expressions;
    const uint64_t *plans;
};

// False for a file that is damaged or of another version. Async-signal-safe.
bool values_table_open(const void *file, size_t size, struct values_table *table);

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
