// Memory within reach of a module, code that is never writable, and the writing of code that is there.
#ifndef WHYPERF_PROBES_MEMORY_H
#define WHYPERF_PROBES_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAGE = 4096 };

static inline size_t whole_pages(size_t bytes) {
    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

// Inaccessible memory from which jumps reach all of [low, high), and back. NULL: there is none.
void *memory_near(uintptr_t low, uintptr_t high, size_t bytes);

// Zeros that code can name by a 32-bit address. NULL: there is no such place.
void *memory_low(size_t bytes);

// Puts code there that was never writable at that place: where the system forbids to make it executable later
// (PR_SET_MDWE, SELinux), this still works.
bool memory_put_code(void *where, const void *code, size_t bytes);

// Writes over code (or anything) in one go, whatever its protection. If that fails half-way, `old` is put back.
bool memory_overwrite(uintptr_t at, const void *bytes, const void *old, size_t size);

#endif
