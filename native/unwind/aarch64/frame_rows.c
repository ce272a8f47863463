// 64-bit ARM: rows from DWARF's rules.
#include "unwind/frame_rules.h"

// Where a register is saved, in words from the CFA. False when that is not known.
static bool saved_at(const struct frame_rules *rules, unsigned column, int64_t *words) {
    const struct rule *rule = &rules->columns[column];
    int64_t offset = rule->offset;
    if (rule->how == HOW_REGISTER && rule->base == rules->cfa_reg)
        offset -= rules->cfa_offset;
    else if (rule->how != HOW_CFA)
        return false;
    *words = offset / 8;
    return offset % 8 == 0 && offset < 0;
}

static int16_t base_of(const struct frame_rules *rules) {
    int64_t lowest = 0, words;
    for (unsigned column = 0; column < UNWIND_SAVED_REGISTERS; column++)
        if (saved_at(rules, column, &words) && words < lowest && words > INT16_MIN)
            lowest = words;
    return (int16_t)(lowest - 1);
}

static int8_t encode_saved(const struct frame_rules *rules, unsigned column, int16_t base) {
    int64_t words;
    if (rules->columns[column].how == HOW_SAME)
        return UNWIND_SAME;
    if (!saved_at(rules, column, &words) || words <= base || words - base >= UNWIND_LOST)
        return UNWIND_LOST;
    return (int8_t)(words - base);
}

struct unwind_row row_of(const struct frame_rules *rules, bool signal, uint32_t address) {
    struct unwind_row row = {.address = address, .kind = UNWIND_KIND_RULE};
    if (signal) {
        row.kind = UNWIND_KIND_SIGNAL;
        return row;
    }
    if (rules->columns[COLUMN_RETURN].how == HOW_UNDEFINED) {
        row.kind = UNWIND_KIND_END;
        return row;
    }
    int16_t base = base_of(rules);
    if (rules->cfa_kind != UNWIND_KIND_OFFSET || rules->columns[COLUMN_SP].how != HOW_SAME ||
        encode_saved(rules, COLUMN_RETURN, base) == UNWIND_LOST)
        return row;
    row.kind = UNWIND_KIND_OFFSET;
    row.reg = rules->cfa_reg;
    row.offset = rules->cfa_offset;
    row.saved_base = base;
    for (unsigned column = 0; column < UNWIND_SAVED_REGISTERS; column++)
        row.saved[column] = encode_saved(rules, column, base);
    return row;
}

// Linkage stubs have no rules here.
bool set_linkage_cfa(struct frame_rules *rules, struct cursor block) {
    (void)rules, (void)block;
    return false;
}
