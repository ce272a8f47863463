// The variables table of one module: which variables can be read at which address, and how.
//
// Made from debug information on the recorder's side, one file per build-id beside the unwind tables
// (`<build-id>.vars`), mapped by every watched process. The address determines the list of locations, so a sample
// stores only values: whoever has the same table (its hash is in the module record) can name them again.
#ifndef WHYPERF_VALUES_TABLE_H
#define WHYPERF_VALUES_TABLE_H

#include <stdint.h>

#define VALUES_TABLE_MAGIC 0x3173726176757077ull // "wpuvars1"

enum values_kind {
    VALUES_REGISTER = 0,        // the value is register `reg` (DWARF number, 0 to 15)
    VALUES_VECTOR = 1,          // the low bytes of xmm`reg` (only in the innermost frame)
    VALUES_AT_CFA = 2,          // in memory at CFA + offset
    VALUES_AT_REGISTER = 3,     // in memory at register + offset
    VALUES_AT_ADDRESS = 4,      // in memory at ELF address `address` (globals, statics)
    VALUES_AT_TLS = 5,          // in memory at the module's thread-local block + offset
    VALUES_CFA_PLUS = 6,        // the value is CFA + offset (a pointer to something on the stack)
    VALUES_REGISTER_PLUS = 7,   // the value is register + offset
    VALUES_CONSTANT = 8,        // the value is `address`
    VALUES_EXPRESSION = 9,      // a DWARF expression: `offset` into the expressions, `address` its length
};

enum values_flags {
    VALUES_FLAG_POINTER = 1,      // recorded as a class, not a number
    VALUES_FLAG_DEREFERENCE = 2,  // and the `target_size` bytes it points to as `target`
    VALUES_FLAG_FIELDS = 4,       // and the fields [first_field, first_field + field_count) behind it
    VALUES_FLAG_STACK_VALUE = 8,  // an expression that computes the value itself, not where it is
};

struct values_location {
    uint8_t kind, reg;
    uint8_t size;  // of the value: 1, 2, 4 or 8
    uint8_t flags;
    uint32_t variable;     // row of the variables
    int64_t offset;        // or expression start
    uint64_t address;      // ELF address, constant, or expression length
    uint32_t first_field;  // into the fields
    uint16_t field_count;
    uint16_t padding;
};

// A scalar reached through a pointer: `*p`, `p->n`, `this->size`.
struct values_field {
    int32_t offset;
    uint8_t size;
    uint8_t padding[3];
    uint32_t variable;
};

// From `address` up to the next segment, the locations list[first] .. list[first + count) can be read.
struct values_segment {
    uint32_t address;
    uint32_t first;
    uint32_t count;
};

// Sections follow in this order, each aligned to 8 bytes: segments, index, list (uint32), locations, fields, globals
// (uint32 ids of locations), expressions (bytes). `index` is as in unwind tables: by address >> 7.
struct values_table_file {
    uint64_t magic;
    uint64_t hash;  // FNV-1a over everything after this header
    uint32_t segment_count, index_base, index_count, list_count;
    uint32_t location_count, field_count, global_count, expression_bytes;
    uint32_t variable_count, padding;
};

#endif
