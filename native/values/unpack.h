// The other end of capture.h: from what a sample kept to what its variables held, by the same tables.
#ifndef WHYPERF_VALUES_UNPACK_H
#define WHYPERF_VALUES_UNPACK_H

#include "values/open.h"

// Pointers into the thread's own stack become this, and the distance from its upper end.
#define VALUES_OWN_STACK ((uint64_t)3 << 56)

// Where a frame of the sampled stack lies.
struct values_place {
    const struct values_table *table; // NULL: its variables are not known
    uint64_t address;                 // ELF; of the call in callers
};

struct values_unpacked {
    uint32_t depth;
    uint32_t variable;
    int64_t value; // sign-extended; a float as the bits of a double
};

typedef bool (*values_take_fn)(void *context, const struct values_unpacked *row);

enum values_unpack_result { VALUES_UNPACKED, VALUES_DAMAGED, VALUES_STOPPED };

// STOPPED when `take` returned false.
enum values_unpack_result values_unpack(const unsigned char *packed, size_t size, const struct values_place *places,
                                        uint32_t place_count, values_take_fn take, void *context);

// A value as rows want it, from its bytes.
int64_t values_widen(uint64_t bytes, uint8_t size, uint8_t flags);

#endif
