// From DWARF's rules to rows.
#include "unwind/frame_rules.h"

enum { NO_COLUMN = 0xff };

static uint8_t column_of(uint64_t reg) {
    if (reg == UNWIND_SP)
        return COLUMN_SP;
    if (reg == UNWIND_RETURN_COLUMN)
        return COLUMN_RETURN;
    for (uint8_t column = 0; column < UNWIND_SAVED_REGISTERS; column++)
        if (reg == UNWIND_SAVED_REGISTER[column])
            return column;
    return NO_COLUMN;
}

void set_rule(struct frame_rules *rules, uint64_t reg, uint8_t how, uint8_t base, int64_t offset) {
    uint8_t column = column_of(reg);
    if (column == NO_COLUMN)
        return;
    if (offset != (int32_t)offset)
        how = HOW_INEXPRESSIBLE;
    rules->columns[column] = (struct rule){(int32_t)offset, how, base};
}

void restore_rule(struct frame_rules *rules, const struct frame_rules *initial, uint64_t reg) {
    uint8_t column = column_of(reg);
    if (column != NO_COLUMN)
        rules->columns[column] = initial->columns[column];
}

void set_cfa(struct frame_rules *rules, uint64_t reg, int64_t offset) {
    bool expressible = reg < UNWIND_PC && offset == (int32_t)offset;
    rules->cfa_kind = expressible ? UNWIND_KIND_OFFSET : UNWIND_KIND_RULE;
    rules->cfa_reg = expressible ? (uint8_t)reg : 0;
    rules->cfa_offset = expressible ? (int32_t)offset : 0;
}

enum { OP_DEREF = 0x06, OP_PLUS_UCONST = 0x23, OP_BREG0 = 0x70, OP_BREG_LAST = OP_BREG0 + UNWIND_PC - 1 };

void set_cfa_expression(struct frame_rules *rules, struct cursor block) {
    rules->cfa_kind = UNWIND_KIND_RULE;
    if (set_linkage_cfa(rules, block))
        return;
    uint8_t op = (uint8_t)read_bytes(&block, 1);
    int64_t offset = read_sleb(&block);
    if (block.bad || op < OP_BREG0 || op > OP_BREG_LAST)
        return;
    if (block.at == block.end) {
        set_cfa(rules, op - OP_BREG0, offset);
        return;
    }
    if (read_bytes(&block, 1) != OP_DEREF || offset != (int32_t)offset)
        return;
    rules->cfa_reg = op - OP_BREG0;
    if (block.at == block.end) {
        rules->cfa_kind = UNWIND_KIND_DEREF;
        rules->cfa_offset = (int32_t)offset;
        return;
    }
    bool plus = read_bytes(&block, 1) == OP_PLUS_UCONST;
    uint64_t addend = read_uleb(&block);
    if (!plus || block.bad || block.at != block.end || addend > 255 || offset < -(1 << 23) || offset >= (1 << 23))
        return;
    rules->cfa_kind = UNWIND_KIND_DEREF_PLUS;
    rules->cfa_offset = (int32_t)(offset * 256) | (int32_t)addend;
}

void set_expression(struct frame_rules *rules, uint64_t reg, struct cursor block) {
    uint8_t op = (uint8_t)read_bytes(&block, 1);
    int64_t offset = read_sleb(&block);
    if (block.bad || block.at != block.end || op < OP_BREG0 || op > OP_BREG_LAST)
        set_rule(rules, reg, HOW_INEXPRESSIBLE, 0, 0);
    else
        set_rule(rules, reg, HOW_REGISTER, op - OP_BREG0, offset);
}
