// Reading the operands of those operators; `bad` is set in the cursor where they are cut short.
#ifndef WHYPERF_VALUES_OPERANDS_H
#define WHYPERF_VALUES_OPERANDS_H

#include "unwind/dwarf_bytes.h"
#include "values/operators.h"

static inline uint64_t operand_sign_extended(uint64_t value, unsigned bytes) {
    unsigned shift = 64 - 8 * bytes;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

// What a constant operator pushes.
static inline uint64_t constant_operand(uint8_t operator, struct cursor * code) {
    if (operator_is_literal(operator))
        return operator- DW_OP_lit0;
    switch (operator) {
    case DW_OP_const1u:
        return read_bytes(code, 1);
    case DW_OP_const2u:
        return read_bytes(code, 2);
    case DW_OP_const4u:
        return read_bytes(code, 4);
    case DW_OP_const1s:
        return operand_sign_extended(read_bytes(code, 1), 1);
    case DW_OP_const2s:
        return operand_sign_extended(read_bytes(code, 2), 2);
    case DW_OP_const4s:
        return operand_sign_extended(read_bytes(code, 4), 4);
    case DW_OP_constu:
        return read_uleb(code);
    case DW_OP_consts:
        return (uint64_t)read_sleb(code);
    default: // 8 bytes
        return read_bytes(code, 8);
    }
}

#endif
