// What call frame information says at one address, as far as rows can hold it.
#ifndef WHYPERF_FRAME_RULES_H
#define WHYPERF_FRAME_RULES_H

#include "unwind/dwarf_bytes.h"
#include "unwind/unwind.h"

enum rule_how {
    HOW_SAME = 0,     // unspecified or explicitly the same value
    HOW_CFA,          // saved at CFA + offset
    HOW_REGISTER,     // saved at the value of a register + offset
    HOW_UNDEFINED,    // lost
    HOW_INEXPRESSIBLE // known to the section, not to rows
};

struct rule {
    int32_t offset;
    uint8_t how;
    uint8_t base;
};

// The columns that matter: saved[]'s registers, the return address if it is none of them, the stack pointer.
enum { COLUMN_RETURN = UNWIND_COLUMN_RETURN, COLUMN_SP, COLUMNS };

struct frame_rules {
    uint8_t cfa_kind; // OFFSET, DEREF, DEREF_PLUS, PLT or RULE
    uint8_t cfa_reg;
    int32_t cfa_offset;
    struct rule columns[COLUMNS];
};

struct unwind_row row_of(const struct frame_rules *rules, bool signal, uint32_t address);

// `offset` matters to HOW_CFA and HOW_REGISTER, `base` to the latter. Registers without a column are ignored.
void set_rule(struct frame_rules *rules, uint64_t reg, uint8_t how, uint8_t base, int64_t offset);
void set_expression(struct frame_rules *rules, uint64_t reg, struct cursor block);
void restore_rule(struct frame_rules *rules, const struct frame_rules *initial, uint64_t reg);
void set_cfa(struct frame_rules *rules, uint64_t reg, int64_t offset);
void set_cfa_expression(struct frame_rules *rules, struct cursor block);
// That of linkage stubs; false if the block is none of those that linkers write for them.
bool set_linkage_cfa(struct frame_rules *rules, struct cursor block);

#endif
