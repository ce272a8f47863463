// The variables table of one module: which variables can be read at which address, and how.
//
// Made from debug information on the recorder's side, one file per build-id beside the unwind tables
// (`<build-id>.vars`), mapped by every watched process. The address determines the list of locations, so a sample
// stores only values: whoever has the same table (its hash is in the module record) can name them again.
//
// All addresses are ELF virtual addresses; add the module's bias. In callers, look up the return address minus one.
#ifndef WHYPERF_VALUES_TABLE_H
#define WHYPERF_VALUES_TABLE_H

#include <stdint.h>

#define VALUES_TABLE_MAGIC 0x3473726176757077ull // "wpuvars4"

enum values_kind {
    VALUES_REGISTER = 0,      // the value is register `reg` (DWARF number, 0 to 31)
    VALUES_VECTOR = 1,        // the low bytes of vector register `reg` (only in the innermost frame)
    VALUES_AT_CFA = 2,        // in memory at CFA + offset
    VALUES_AT_REGISTER = 3,   // in memory at register + offset
    VALUES_AT_ADDRESS = 4,    // in memory at ELF address `address` (globals, statics)
    VALUES_AT_TLS = 5,        // in memory at the module's thread-local block + offset
    VALUES_CFA_PLUS = 6,      // the value is CFA + offset (a pointer to something on the stack)
    VALUES_REGISTER_PLUS = 7, // the value is register + offset
    VALUES_CONSTANT = 8,      // the value is `address`
    VALUES_EXPRESSION = 9,    // an expression, see below: `offset` into the expressions, `address` its length in bytes
    VALUES_ADDRESS = 10,      // the value is ELF address `address`, plus the bias
    VALUES_ENTRY = 11,        // what register `reg` held when the function entered at `address` was called
    VALUES_KINDS = 12,
};

enum values_flags {
    VALUES_FLAG_POINTER = 1,     // recorded as a class, not a number
    VALUES_FLAG_FIELDS = 4,      // a pointer, with fields [first_field, first_field + field_count) behind it
    VALUES_FLAG_STACK_VALUE = 8, // an expression that computes the value itself, not where it is
    VALUES_FLAG_SIGNED = 16,     // sign-extended to 64 bits
    VALUES_FLAG_FLOAT = 32,      // IEEE, 4 or 8 bytes
    VALUES_FLAG_SPAN = 64,       // fields: (the pointer at offset + 8, minus the one at offset) / scale, a size
};

enum { VALUES_INDEX_SHIFT = 7 };

#define VALUES_NO_VARIABLE UINT32_MAX // locations of call-site parameters

struct values_location {
    uint8_t kind, reg;
    uint8_t size; // of the value: 1, 2, 4 or 8
    uint8_t flags;
    uint32_t variable; // row of the variables
    uint64_t address;
    int32_t offset;
    uint32_t first_field; // into the fields
    uint32_t field_count;
    uint32_t padding;
};
_Static_assert(sizeof(struct values_location) == 32, "locations are packed by hand");

// A scalar reached through a pointer: `*p`, `p->n`, `this->size`. Nothing is read behind a null pointer.
struct values_field {
    int32_t offset;
    uint8_t size;
    uint8_t flags; // POINTER, SIGNED, FLOAT, SPAN
    uint16_t padding;
    uint32_t variable;
    uint32_t scale; // of a SPAN, never 0 there
};
_Static_assert(sizeof(struct values_field) == 16, "fields are packed by hand");

// From `address` up to the next segment, the locations list[first] .. list[first + count) can be read.
struct values_segment {
    uint32_t address;
    uint32_t first;
    uint32_t count;
    uint32_t plan; // into the plans
};

// A plan says what to keep of a frame so that everything in its list can be worked out later, from the same table: the
// watched program pays for copying registers and memory, and for nothing else. It holds no names and no types, so that
// many segments share one and a sample touches few cache lines.
//
// A plan is `struct values_plan`, then its items: slots first, which lie on the stack where a register or the CFA
// points, then the rest, which lies behind pointers and may be read less often.
enum values_base {
    VALUES_BASE_CFA = 32, // 0 to 31: a register
    VALUES_BASE_TLS = 33,
    VALUES_BASE_BIAS = 34,    // `offset` is an ELF address
    VALUES_BASE_POINTER = 35, // what the latest item with ITEM_LOADS holds
    VALUES_BASES = 36,
};

enum { VALUES_ITEM_LOADS = 1, VALUES_ITEM_BYTES_MAX = 512, VALUES_PLAN_ITEMS_MAX = 200, VALUES_PLAN_BYTES_MAX = 2048 };

struct values_item {
    uint8_t base, flags;
    uint16_t length;
    int32_t offset;
};
_Static_assert(sizeof(struct values_item) == 8, "items are packed by hand");

struct values_plan {
    uint32_t registers, vectors; // a bit for each that is to be kept; vectors in the innermost frame only
    uint8_t slots, others;       // numbers of items
    uint16_t bytes;              // of all items
    uint32_t padding;
};
_Static_assert(sizeof(struct values_plan) == 16, "plans are packed by hand");

// Entry values. Arguments that the callee has overwritten can often be had again in the caller's frame: the call that
// returns to `return_address` passed, in registers, parameters [first, first + count). `location` says where the value
// is in the caller's frame at that return address; it may itself be an ENTRY. Sites are sorted by return address.
//
// Only calls whose target is certain are listed. A VALUES_ENTRY holds if the site's `target` equals its `address`: the
// function may otherwise have been reached by a tail call, and the caller's registers say nothing about it.
struct values_call_site {
    uint32_t return_address;
    uint32_t target;
    uint32_t first;
    uint32_t count;
};

struct values_call_parameter {
    uint32_t reg;      // DWARF number, 0 to 31
    uint32_t location; // 8 bytes wide; variable is VALUES_NO_VARIABLE
};

// Expressions are DWARF's stack machine with 64-bit words, cut down so that evaluating one is bounded and never
// guesses. Operands are as in DWARF (LEB128) unless said otherwise. At most VALUES_EXPRESSION_BYTES long, never deeper
// than VALUES_EXPRESSION_STACK, no jumps. The last word is the value (STACK_VALUE) or where it is. Operators:
//   addr (plus the bias), const1u .. const8s, constu, consts, lit0 .. lit31, breg0 .. breg31, call_frame_cfa,
//   deref, deref_size, dup, drop, over, pick, swap, rot, abs, neg, not, and, or, xor, plus, plus_uconst, minus, mul,
//   div (signed), mod (unsigned), shl, shr, shra, eq, ne, lt, le, gt, ge (signed),
//   entry_value: here followed by `u8 register, u32 entry address` as in VALUES_ENTRY.
// Shifts by 64 or more give 0 (shra: the sign); division by 0 and the smallest number by -1 mean "unreadable".
enum { VALUES_EXPRESSION_BYTES = 255, VALUES_EXPRESSION_STACK = 16 };

// Sections follow in this order, each aligned to 8 bytes: segments, index, list (uint32), locations, fields, globals
// (uint32 ids of locations, by address), call sites, call parameters, expressions (bytes), plans (words of 8 bytes). As
// in unwind tables, with index_base = segments[0].address >> 7, index[k] is the last segment whose address <=
// (index_base + k) << 7 (or 0). The last segment is empty.
struct values_table_file {
    uint64_t magic;
    uint64_t hash; // FNV-1a over everything after this header
    uint32_t segment_count, index_base, index_count, list_count;
    uint32_t location_count, field_count, global_count, expression_bytes;
    uint32_t call_site_count, call_parameter_count;
    uint32_t variable_count;
    uint32_t names_checksum; // CRC-32 of the file that names the variables (`<build-id>.variables`)
    uint32_t plan_words;
    uint32_t padding;
};
_Static_assert(sizeof(struct values_table_file) % 8 == 0, "sections follow the header");

#endif
