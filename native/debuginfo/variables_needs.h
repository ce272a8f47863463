// Which registers and which bytes of memory a location's value is told from.
#ifndef WHYPERF_DEBUGINFO_VARIABLES_NEEDS_H
#define WHYPERF_DEBUGINFO_VARIABLES_NEEDS_H

#include "debuginfo/variables.h"

enum { WANTED_MAX = 4096 };

// Bytes that some location reads: at a base plus an offset, or behind the pointer that lies there.
struct wanted {
    uint8_t base;
    bool behind;
    bool is_slot;       // on the stack, where a register or the CFA points
    int32_t pointer_at; // the base's offset of that pointer
    int32_t offset;
    uint32_t length;
};

struct needs {
    const struct variables *variables;
    uint32_t registers, vectors;
    struct wanted *wanted;
    size_t count;
};

// A word of which only this is known: base plus offset. `base` may be one of the two below.
enum { SYMBOL_NUMBER = VALUES_BASES, SYMBOL_UNKNOWN };
struct symbol {
    uint8_t base;
    int64_t offset;
};

// Where a location's value is, or what it is: base plus offset.
struct found {
    struct symbol symbol;
    bool is_there; // at the symbol, instead of being it
};

// Adds what the location needs, fields behind it included.
struct found need_location(struct needs *needs, const struct values_location *location);
// Adds what lies behind the pointer that `location` gives, which is found there.
void want_fields(struct needs *needs, const struct values_location *location, struct found found);

#endif
