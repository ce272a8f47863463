// The DWARF operators that expressions of the variables table are made of: for who writes, reads and runs them.
#ifndef WHYPERF_VALUES_OPERATORS_H
#define WHYPERF_VALUES_OPERATORS_H

#include <dwarf.h>
#include <stdbool.h>
#include <stdint.h>

// Takes two words off the stack and leaves one.
static inline bool operator_is_binary(uint8_t operator) {
    switch (operator) {
    case DW_OP_and:
    case DW_OP_or:
    case DW_OP_xor:
    case DW_OP_plus:
    case DW_OP_minus:
    case DW_OP_mul:
    case DW_OP_div:
    case DW_OP_mod:
    case DW_OP_shl:
    case DW_OP_shr:
    case DW_OP_shra:
    case DW_OP_eq:
    case DW_OP_ne:
    case DW_OP_lt:
    case DW_OP_le:
    case DW_OP_gt:
    case DW_OP_ge:
        return true;
    default:
        return false;
    }
}

static inline bool operator_is_literal(uint8_t operator) {
    return operator>= DW_OP_lit0 && operator<= DW_OP_lit31;
}

static inline bool operator_is_register(uint8_t operator) {
    return operator>= DW_OP_breg0 && operator<= DW_OP_breg31;
}

static inline bool operator_is_constant(uint8_t operator) {
    return operator_is_literal(operator) || (operator>= DW_OP_const1u && operator<= DW_OP_consts);
}

// Leaves a word without looking at the stack.
static inline bool operator_pushes(uint8_t operator) {
    return operator_is_constant(operator) ||
           operator_is_register(operator) ||
           operator== DW_OP_addr || operator== DW_OP_call_frame_cfa || operator== DW_OP_entry_value;
}

#endif
