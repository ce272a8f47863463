// Stack unwinding by rows compiled from .eh_frame: no lock, no allocation, no library.
//
// One row says, for a range of addresses, how to find the canonical frame address (CFA) and where the caller's
// callee-saved registers lie. Rows are position-independent: addresses are ELF virtual addresses.
#ifndef WHYPERF_UNWIND_H
#define WHYPERF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Rows can be compiled for either machine on any.
#if defined(UNWIND_FOR_AARCH64) || (defined(__aarch64__) && !defined(UNWIND_FOR_X86_64))
#include "unwind/aarch64/registers.h"
#elif defined(UNWIND_FOR_X86_64) || defined(__x86_64__)
#include "unwind/x86_64/registers.h"
#else
#error "whyperf walks stacks on x86-64 and 64-bit ARM"
#endif

enum unwind_kind {
    UNWIND_KIND_NONE = 0,    // no unwind information from this address on
    UNWIND_KIND_OFFSET = 1,  // CFA = register + offset
    UNWIND_KIND_DEREF = 2,   // CFA = *(register + offset): functions that realign their stack
    UNWIND_KIND_PLT = 3,     // the linker's expression for PLT entries; offset = where the entry's push has been done
    UNWIND_KIND_SIGNAL = 4,  // a signal frame: every register lies in the ucontext
    UNWIND_KIND_END = 5,     // return address undefined: the outermost frame
    UNWIND_KIND_RULE = 6,    // a rule that rows cannot express
    UNWIND_KIND_REALIGN = 7, // CFA = register + offset while a function realigns its stack; saved[] as in DEREF
    UNWIND_KIND_DEREF_PLUS = 8, // CFA = *(register + (offset >> 8)) + (offset & 255): assembly that keeps the old rsp
};

// Values of a row's saved[] that are no distance.
enum { UNWIND_SAME = 0, UNWIND_LOST = 127 };

enum { UNWIND_INDEX_SHIFT = 7 };

// One module's rows, sorted by address, with an index by address.
struct unwind_table {
    const struct unwind_row *rows;
    // With b = rows[0].address >> shift, index[k] = last row whose address <= (b + k) << shift (or 0). There is none
    // (index_count = 0) where rows lie too far apart for an index to pay; lookups then search all rows.
    const uint32_t *index;
    uint32_t row_count;
    uint32_t index_count;
    uint32_t first_address; // rows[0].address
};

struct unwind_module {
    uint64_t start, end; // executable mapping
    uint64_t bias;       // runtime address = ELF virtual address + bias
    struct unwind_table table;
};

struct unwind_modules {
    uint32_t count;
    struct unwind_module modules[]; // sorted by start, disjoint
};

struct unwind_registers {
    uint64_t value[UNWIND_REGISTERS];
    uint64_t known; // bit per register
};

static inline uint64_t unwind_bit(unsigned reg) {
    return (uint64_t)1 << reg;
}

// Reads eight bytes of the watched stack; false if they cannot be had.
typedef bool (*unwind_read_fn)(void *context, uint64_t address, uint64_t *word);

struct unwind_cursor {
    struct unwind_registers registers;
    bool pc_is_exact; // the innermost frame, or one interrupted by a signal: its pc is not a return address
};

// Moves the cursor to the caller. Returns 0 on success, or an enum whyperf_cut-compatible reason (see session.h), in
// which case the cursor has not moved. *ended is set, and the cursor has not moved, when this was the outermost frame.
int unwind_step(struct unwind_cursor *cursor, const struct unwind_modules *modules, unwind_read_fn read, void *context,
                bool *ended);

// The parts of such a step, for who remembers rows or looks at a frame on its way: find the row of that address; unless
// it is an END row, leave the frame, by the CFA or, for a SIGNAL row, without one.
static inline uint64_t unwind_looked_up(const struct unwind_cursor *cursor) {
    // A call can be a function's last instruction: a return address may belong to the next function.
    return cursor->registers.value[UNWIND_PC] - !cursor->pc_is_exact;
}
int unwind_find_cfa(const struct unwind_cursor *cursor, const struct unwind_row *row, unwind_read_fn read,
                    void *context, uint64_t *cfa);
int unwind_leave(struct unwind_cursor *cursor, const struct unwind_row *row, uint64_t cfa, unwind_read_fn read,
                 void *context, bool *ended);
int unwind_leave_signal(struct unwind_cursor *cursor, unwind_read_fn read, void *context);
// Whether the cursor is where a signal handler returns to, for machines whose kernel gives no unwind information there.
bool unwind_at_signal_return(const struct unwind_cursor *cursor, unwind_read_fn read, void *context);

const struct unwind_module *unwind_find_module(const struct unwind_modules *modules, uint64_t pc);
// Two steps to be taken well before looking an address up, so that other memory can be waited for meanwhile.
void unwind_prefetch_index(const struct unwind_table *table, uint32_t address);
void unwind_prefetch_rows(const struct unwind_table *table, uint32_t address);
// NULL where the module has no unwind information for the address.
const struct unwind_row *unwind_find_row(const struct unwind_table *table, uint32_t address);

// Compiling rows. `eh_frame` is a private copy of the section's bytes, `address` its ELF virtual address; `size` may
// be an upper bound: reading ends at the section's terminator or at the first entry that makes no sense.
struct eh_frame {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
    uint64_t
        entry; // where the module is entered, 0 if unknown: code without unwind information from there on ends stacks
};

struct row_buffer {
    struct unwind_row *rows;
    uint32_t count, capacity;
    bool (*grow)(struct row_buffer *buffer); // doubles capacity (at least one row), false when it cannot
};

// Fills an empty buffer with sorted, merged rows, the last of which is a NONE row. False when `grow` failed; no rows at
// all is success. Async-signal-safe as long as `grow` is.
bool unwind_compile(struct eh_frame section, struct row_buffer *out);
// The index of a table; a size of 0 means that it shall have none.
uint32_t unwind_index_size(const struct unwind_row *rows, uint32_t row_count);
bool unwind_build_index(const struct unwind_row *rows, uint32_t row_count, uint32_t *index, uint32_t index_count);

#endif
