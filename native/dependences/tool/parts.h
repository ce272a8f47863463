// SPDX-License-Identifier: GPL-2.0-or-later
// Sets of register parts, and values made of them. A part is what an instruction can write without touching the rest:
// four bytes of a vector register; of a general register on amd64 the lowest byte, the second byte and the remainder,
// on arm64 all of it.
#ifndef WHYPERF_DEPENDENCES_PARTS_H
#define WHYPERF_DEPENDENCES_PARTS_H

#include "valgrind.h"

// PART_COMPUTED is no register: a value that has it was not just moved.
enum { PART_GENERAL = 0, PART_X87 = 48, PART_COMPUTED = 63, PART_VECTOR = 64, PARTS = 256 };

typedef struct {
    ULong bits[PARTS / 64];
} Parts;

// How a value's lanes are to be understood.
typedef enum {
    LAYOUT_WHOLE,  // lane 0 holds the parts of all of it
    LAYOUT_BYTES,  // an integer: byte 0, byte 1, the remainder
    LAYOUT_DWORDS, // units of four bytes
} Layout;

typedef struct {
    Layout layout;
    Parts lane[8];
} Value;

static inline void parts_add(Parts *into, const Parts *more) {
    for (UInt i = 0; i < PARTS / 64; i++)
        into->bits[i] |= more->bits[i];
}

static inline void parts_add_one(Parts *into, UInt part) {
    into->bits[part / 64] |= 1ULL << (part % 64);
}

static inline Bool parts_has(const Parts *parts, UInt part) {
    return (parts->bits[part / 64] >> (part % 64)) & 1;
}

static inline Bool parts_are_just(const Parts *parts, UInt part) {
    Parts one = {{0}};
    parts_add_one(&one, part);
    for (UInt i = 0; i < PARTS / 64; i++)
        if (parts->bits[i] != one.bits[i])
            return False;
    return True;
}

static inline Parts value_parts(const Value *value) {
    Parts all = value->lane[0];
    if (value->layout != LAYOUT_WHOLE)
        for (UInt i = 1; i < 8; i++)
            parts_add(&all, &value->lane[i]);
    return all;
}

static inline Parts value_lane(const Value *value, Layout layout, UInt lane) {
    return value->layout == layout ? value->lane[lane] : value_parts(value);
}

// What an expression is made of, given what its temporaries and registers are made of.
typedef struct {
    const IRTypeEnv *types;
    Value *temporaries;
    UInt temporaries_most;
    Parts registers[PARTS]; // at this point of the instruction, in terms of its start
} Symbols;

void symbols_start(Symbols *symbols);
Value symbols_value(const Symbols *symbols, const IRExpr *expression);
Value symbols_register(const Symbols *symbols, Int offset, IRType type);

#endif
