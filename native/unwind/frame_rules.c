// From DWARF's rules to rows.
#include "unwind/frame_rules.h"

enum { NO_COLUMN = 0xff };
static const uint8_t COLUMN_OF[UNWIND_REGISTERS] = {
    [UNWIND_RAX] = NO_COLUMN,
    [UNWIND_RDX] = NO_COLUMN,
    [UNWIND_RCX] = NO_COLUMN,
    [UNWIND_RBX] = 0,
    [UNWIND_RSI] = NO_COLUMN,
    [UNWIND_RDI] = NO_COLUMN,
    [UNWIND_RBP] = 1,
    [UNWIND_RSP] = COLUMN_RSP,
    [UNWIND_R8] = NO_COLUMN,
    [UNWIND_R9] = NO_COLUMN,
    [UNWIND_R10] = NO_COLUMN,
    [UNWIND_R11] = NO_COLUMN,
    [UNWIND_R12] = 2,
    [UNWIND_R13] = 3,
    [UNWIND_R14] = 4,
    [UNWIND_R15] = 5,
    [UNWIND_RIP] = COLUMN_RETURN,
};

static int8_t saved_word(int64_t offset) {
    if (offset % 8 || offset >= 0 || offset < -128 * 8)
        return UNWIND_LOST;
    return (int8_t)(offset / 8);
}

// Where a register is saved, counted from the value of `base` (+ 0). False when that distance is not known.
static bool offset_from(const struct frame_rules *rules, unsigned column, uint8_t base, int64_t *offset) {
    const struct rule *rule = &rules->columns[column];
    if (rule->how == HOW_REGISTER && rule->base == base) {
        *offset = rule->offset;
        return true;
    }
    if (rule->how == HOW_CFA && rules->cfa_kind == UNWIND_KIND_OFFSET && rules->cfa_reg == base) {
        *offset = (int64_t)rule->offset + rules->cfa_offset;
        return true;
    }
    return false;
}

// The kernel's signal frame: the ucontext lies at rsp, its rsp and rip at these distances.
static bool is_signal_frame(const struct frame_rules *rules) {
    int64_t rsp, rip;
    return offset_from(rules, COLUMN_RSP, UNWIND_RSP, &rsp) && rsp == 160 &&
           offset_from(rules, COLUMN_RETURN, UNWIND_RSP, &rip) && rip == 168;
}

static int8_t encode_saved(const struct frame_rules *rules, unsigned column, uint8_t kind, uint8_t base) {
    const struct rule *rule = &rules->columns[column];
    int64_t offset;
    if (rule->how == HOW_SAME)
        return UNWIND_SAME;
    if (kind == UNWIND_KIND_DEREF || kind == UNWIND_KIND_REALIGN)
        return offset_from(rules, column, base, &offset) ? saved_word(offset - 8) : UNWIND_LOST;
    if (rule->how == HOW_CFA)
        return saved_word(rule->offset);
    if (rule->how == HOW_REGISTER && kind == UNWIND_KIND_OFFSET && rule->base == rules->cfa_reg)
        return saved_word((int64_t)rule->offset - rules->cfa_offset);
    return UNWIND_LOST;
}

static bool saves_relative_to_rbp(const struct frame_rules *rules) {
    for (unsigned column = 0; column < UNWIND_SAVED_REGISTERS; column++)
        if (rules->columns[column].how == HOW_REGISTER && rules->columns[column].base == UNWIND_RBP)
            return true;
    return false;
}

struct unwind_row row_of(const struct frame_rules *rules, bool signal, uint32_t address) {
    struct unwind_row row = {.address = address, .kind = UNWIND_KIND_RULE};
    const struct rule *returns = &rules->columns[COLUMN_RETURN];
    if (signal) {
        if (is_signal_frame(rules))
            row.kind = UNWIND_KIND_SIGNAL;
        return row;
    }
    if (returns->how == HOW_UNDEFINED) {
        row.kind = UNWIND_KIND_END;
        return row;
    }
    if (returns->how != HOW_CFA || returns->offset != -8 || rules->columns[COLUMN_RSP].how != HOW_SAME ||
        rules->cfa_kind == UNWIND_KIND_RULE)
        return row;
    row.kind = rules->cfa_kind;
    row.reg = rules->cfa_reg;
    row.offset = rules->cfa_offset;
    if (row.kind == UNWIND_KIND_OFFSET && row.reg != UNWIND_RBP && saves_relative_to_rbp(rules))
        row.kind = UNWIND_KIND_REALIGN;
    uint8_t base = row.kind == UNWIND_KIND_REALIGN ? (uint8_t)UNWIND_RBP : row.reg;
    for (unsigned column = 0; column < UNWIND_SAVED_REGISTERS; column++)
        row.saved[column] = encode_saved(rules, column, row.kind, base);
    return row;
}

void set_rule(struct frame_rules *rules, uint64_t reg, uint8_t how, uint8_t base, int64_t offset) {
    if (reg >= UNWIND_REGISTERS || COLUMN_OF[reg] == NO_COLUMN)
        return;
    if (offset != (int32_t)offset)
        how = HOW_INEXPRESSIBLE;
    rules->columns[COLUMN_OF[reg]] = (struct rule){(int32_t)offset, how, base};
}

void restore_rule(struct frame_rules *rules, const struct frame_rules *initial, uint64_t reg) {
    if (reg < UNWIND_REGISTERS && COLUMN_OF[reg] != NO_COLUMN)
        rules->columns[COLUMN_OF[reg]] = initial->columns[COLUMN_OF[reg]];
}

void set_cfa(struct frame_rules *rules, uint64_t reg, int64_t offset) {
    bool expressible = reg < UNWIND_RIP && offset == (int32_t)offset;
    rules->cfa_kind = expressible ? UNWIND_KIND_OFFSET : UNWIND_KIND_RULE;
    rules->cfa_reg = expressible ? (uint8_t)reg : 0;
    rules->cfa_offset = expressible ? (int32_t)offset : 0;
}

enum { OP_DEREF = 0x06, OP_PLUS_UCONST = 0x23, OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_BREG0 = 0x70, OP_BREG15 = 0x7f };

// rsp + 8, and 8 more once the entry has pushed its number: the code lies at a fixed place in each 16-byte entry.
static bool is_plt_expression(struct cursor block, int32_t *pushed_from) {
    static const uint8_t PATTERN[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
    enum { LITERAL = 6 };
    if ((size_t)(block.end - block.at) != sizeof PATTERN || memcmp(block.at, PATTERN, LITERAL) != 0 ||
        memcmp(block.at + LITERAL + 1, PATTERN + LITERAL + 1, sizeof PATTERN - LITERAL - 1) != 0 ||
        block.at[LITERAL] < OP_LIT0 || block.at[LITERAL] > OP_LIT31)
        return false;
    *pushed_from = block.at[LITERAL] - OP_LIT0;
    return true;
}

void set_cfa_expression(struct frame_rules *rules, struct cursor block) {
    int32_t pushed_from;
    rules->cfa_kind = UNWIND_KIND_RULE;
    if (is_plt_expression(block, &pushed_from)) {
        rules->cfa_kind = UNWIND_KIND_PLT;
        rules->cfa_reg = UNWIND_RSP;
        rules->cfa_offset = pushed_from;
        return;
    }
    uint8_t op = (uint8_t)read_bytes(&block, 1);
    int64_t offset = read_sleb(&block);
    if (block.bad || op < OP_BREG0 || op > OP_BREG15)
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
    if (block.bad || block.at != block.end || op < OP_BREG0 || op > OP_BREG15)
        set_rule(rules, reg, HOW_INEXPRESSIBLE, 0, 0);
    else
        set_rule(rules, reg, HOW_REGISTER, op - OP_BREG0, offset);
}
