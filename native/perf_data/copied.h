// Unwinding stacks that perf copied: by the rows of the ELF files that were mapped then.
#ifndef WHYPERF_PERF_COPIED_H
#define WHYPERF_PERF_COPIED_H

#include "perf_data/samples.h"
#include "stacks/tables.h"

// Which tables serve which addresses.
struct copied_spaces {
    struct unwind_modules **spaces;
    size_t count, capacity;
};

bool copied_spaces_add(struct copied_spaces *spaces, struct unwind_modules *space);
void copied_spaces_release(struct copied_spaces *spaces);

// Unwinds from the sample's registers and copied memory; fills its user stack and why that ends early. False without
// memory. `user_registers` is the mask of registers that were copied.
bool unwind_copied(const uint8_t *data, uint64_t user_registers, const struct unwind_modules *space,
                   struct perf_stacks *stacks, struct perf_sample *sample);

#endif
