// x86-64: rows from DWARF's rules.
#include "unwind/frame_rules.h"

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
    return offset_from(rules, COLUMN_SP, UNWIND_RSP, &rsp) && rsp == 160 &&
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
    if (returns->how != HOW_CFA || returns->offset != -8 || rules->columns[COLUMN_SP].how != HOW_SAME ||
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

// rsp + 8, and 8 more once the entry has pushed its number: the code lies at a fixed place in each 16-byte entry.
static bool is_plt_expression(struct cursor block, int32_t *pushed_from) {
    enum { OP_LIT0 = 0x30, OP_LIT31 = 0x4f };
    static const uint8_t PATTERN[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
    enum { LITERAL = 6 };
    if ((size_t)(block.end - block.at) != sizeof PATTERN || memcmp(block.at, PATTERN, LITERAL) != 0 ||
        memcmp(block.at + LITERAL + 1, PATTERN + LITERAL + 1, sizeof PATTERN - LITERAL - 1) != 0 ||
        block.at[LITERAL] < OP_LIT0 || block.at[LITERAL] > OP_LIT31)
        return false;
    *pushed_from = block.at[LITERAL] - OP_LIT0;
    return true;
}

bool set_linkage_cfa(struct frame_rules *rules, struct cursor block) {
    int32_t pushed_from;
    if (!is_plt_expression(block, &pushed_from))
        return false;
    rules->cfa_kind = UNWIND_KIND_PLT;
    rules->cfa_reg = UNWIND_RSP;
    rules->cfa_offset = pushed_from;
    return true;
}
