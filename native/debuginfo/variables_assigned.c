// From where on a variable that has one place for its whole scope holds something the program put there.
//
// The rules go by addresses, as if code were executed in that order: sound for a variable that is initialised where it
// is declared, and for one that is first assigned further down; one that both branches of a choice assign counts from
// where they meet, one that only the first assigns counts behind it.
#include "debuginfo/variables.h"

#include <stdlib.h>
#include <string.h>

// Unlike in code maps, rows that repeat the line before stay: the second row of a function ends its prologue.
void sort_line_rows(struct variables *variables) {
    variables->line_rows = variables->reader->rows;
    qsort(variables->line_rows.items, variables->line_rows.count, sizeof(struct line_row), compare_line_rows);
}

static size_t first_row_from(const struct variables *variables, uint64_t address) {
    size_t low = 0, high = variables->line_rows.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (COLUMN_AT(&variables->line_rows, struct line_row, middle).address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const uint8_t *code_at(const struct variables *variables, uint64_t low, uint64_t high) {
    for (size_t i = 0; i < variables->code.count; i++) {
        const struct code_bytes *code = &COLUMN_AT(&variables->code, struct code_bytes, i);
        if (code->low <= low && low <= high && high <= code->high)
            return code->bytes + (low - code->low);
    }
    return NULL;
}

// The second address with a row in the range.
static bool prologue_end(const struct variables *variables, uint64_t low, uint64_t high, uint64_t *end) {
    for (size_t i = first_row_from(variables, low); i < variables->line_rows.count; i++) {
        uint64_t address = COLUMN_AT(&variables->line_rows, struct line_row, i).address;
        if (address >= high)
            return false;
        if (address > low) {
            *end = address;
            return true;
        }
    }
    return false;
}

static bool line_after(const struct variables *variables, const struct declaration *declaration, uint64_t low,
                       uint64_t high, uint64_t *start) {
    bool seen_declaration = false;
    for (size_t i = first_row_from(variables, low); i < variables->line_rows.count; i++) {
        const struct line_row *row = &COLUMN_AT(&variables->line_rows, struct line_row, i);
        if (row->address >= high)
            return false;
        if (row->file != declaration->file || !row->line)
            continue;
        // Code of an earlier line that follows the declaration's is behind it too: the end of a loop around it.
        if (row->line > declaration->line || (seen_declaration && row->line != declaration->line)) {
            *start = row->address;
            return true;
        }
        seen_declaration |= row->line == declaration->line;
    }
    return false;
}

// An operand "rbp + displacement", found by matching a ModRM byte and the displacement, not by decoding.
struct mention {
    uint64_t address;
    int64_t displacement;
    uint64_t bytes;  // from there on that the instruction may set
    bool is_address; // passed on to somebody who may set them: not before the statement is over
};

static uint64_t bytes_set(const uint8_t *code, uint64_t modrm) {
    enum { MOVUPS = 0x11, MOVAPS = 0x29, MOVDQ = 0x7f };
    uint8_t opcode = code[modrm - 1];
    bool is_vector = modrm >= 2 && code[modrm - 2] == 0x0f && (opcode == MOVUPS || opcode == MOVAPS || opcode == MOVDQ);
    bool is_scalar = modrm >= 3 && (code[modrm - 3] == 0xf2 || (code[modrm - 3] == 0xf3 && opcode == MOVUPS));
    if (is_vector && !is_scalar)
        return 16;
    bool is_wide = modrm >= 2 && (code[modrm - 2] & 0xf8) == 0x48;
    return is_wide ? 8 : 1;
}

// The first one in the range that may set the slot at rbp + [from, to).
static bool first_mention(const uint8_t *code, uint64_t size, int64_t from, int64_t to, int64_t object,
                          struct mention *mention) {
    enum { LEA = 0x8d };
    for (uint64_t i = 1; i + 5 <= size; i++) {
        if ((code[i] & 0xc7) == 0x45) {
            mention->displacement = (int8_t)code[i + 1];
        } else if ((code[i] & 0xc7) == 0x85) {
            int32_t wide;
            memcpy(&wide, code + i + 1, sizeof wide);
            mention->displacement = wide;
        } else {
            continue;
        }
        mention->is_address = code[i - 1] == LEA;
        mention->bytes = mention->is_address ? INT32_MAX : bytes_set(code, i);
        mention->address = i;
        if (mention->displacement >= object && mention->displacement < to &&
            mention->displacement + (int64_t)mention->bytes > from)
            return true;
    }
    return false;
}

// The next call, which is who gets an address that was just taken: clang counts taking it to the statement before.
static uint64_t next_call(const struct variables *variables, uint64_t address, uint64_t high) {
    enum { CALL = 0xe8, CALL_BYTES = 5 };
    const uint8_t *code = code_at(variables, address, high);
    for (uint64_t i = 0; code && i + CALL_BYTES <= high - address; i++) {
        int32_t distance;
        memcpy(&distance, code + i + 1, sizeof distance);
        uint64_t target = address + i + CALL_BYTES + (uint64_t)(int64_t)distance;
        if (code[i] == CALL && code_at(variables, target, target + 1))
            return address + i;
    }
    return address;
}

// The first row behind an instruction; behind its statement where that is what counts.
static uint64_t row_behind(const struct variables *variables, const struct mention *mention, uint64_t high) {
    uint64_t from = mention->is_address ? next_call(variables, mention->address, high) : mention->address;
    size_t row = first_row_from(variables, from + 1);
    const struct line_row *rows = (const struct line_row *)variables->line_rows.items;
    int32_t line = row > 0 ? rows[row - 1].line : 0;
    while (mention->is_address && row < variables->line_rows.count && (rows[row].line == line || !rows[row].line))
        row++;
    return row < variables->line_rows.count ? rows[row].address : high;
}

static bool jumps_to(const uint8_t *code, uint64_t end, uint64_t target) {
    for (uint64_t i = 0; i + 2 <= end; i++) {
        int32_t wide = 0;
        if (i + 6 <= end)
            memcpy(&wide, code + i + 2, sizeof wide);
        if ((code[i] & 0xf0) == 0x70 && i + 2 + (uint64_t)(int64_t)(int8_t)code[i + 1] == target)
            return true;
        if (code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80 && i + 6 + (uint64_t)(int64_t)wide == target)
            return true;
    }
    return false;
}

// Where the jump leads that ends at `end`; 0 if it is none, or leads back.
static uint64_t jump_over(const uint8_t *code, uint64_t end) {
    int32_t wide = 0;
    if (end >= 5)
        memcpy(&wide, code + end - 4, sizeof wide);
    if (end >= 2 && code[end - 2] == 0xeb && (int8_t)code[end - 1] > 0)
        return end + code[end - 1];
    return end >= 5 && code[end - 5] == 0xe9 && wide > 0 ? end + (uint64_t)wide : 0;
}

// Where an assignment is one of two branches, the other one lies behind it but is not reached from it: there a jump
// leads over it. Both meet where that jump ends.
static uint64_t behind_other_branch(const uint8_t *code, uint64_t mention, uint64_t behind, uint64_t size) {
    // The jump ends the assignment's statement (gcc), or has a row of its own (clang).
    const uint64_t ends[] = {behind, behind + 2, behind + 5};
    for (size_t i = 0; i < sizeof ends / sizeof *ends && ends[i] < size; i++) {
        uint64_t other = ends[i], meet = jump_over(code, other);
        if (meet && meet <= size && jumps_to(code, mention, other))
            return meet;
    }
    return behind;
}

// Where frames are addressed by rbp, as at -O0, the slot's distance from it.
static bool slot(const struct variables *variables, const struct body *body, const struct place *place,
                 int64_t *displacement) {
    static const uint8_t SET_UP[] = {0x55, 0x48, 0x89, 0xe5}; // push %rbp; mov %rsp,%rbp
    const uint8_t *code = code_at(variables, body->entry, body->entry + 12);
    if (!code)
        return false;
    bool marked = code[0] == 0xf3; // endbr64
    if (memcmp(code + (marked ? 4 : 0), SET_UP, sizeof SET_UP))
        return false;
    if (place->kind == VALUES_AT_CFA)
        *displacement = place->offset + 16;
    else if (place->kind == VALUES_AT_REGISTER && place->reg == 6)
        *displacement = place->offset;
    else
        return false;
    return *displacement < 0;
}

// Where the slot's part that the leaf is was first set, by the order of addresses.
static bool set_from(const struct variables *variables, const struct leaf *leaf, int64_t object, uint64_t low,
                     uint64_t high, uint64_t *start) {
    const uint8_t *code = code_at(variables, low, high);
    int64_t from = object + leaf->offset;
    struct mention mention;
    if (!code || !first_mention(code, high - low, from, from + leaf->size, object, &mention))
        return false;
    uint64_t in_code = mention.address;
    mention.address += low;
    uint64_t behind = row_behind(variables, &mention, high);
    *start = behind < high ? low + behind_other_branch(code, in_code, behind - low, high - low) : high;
    return *start < high;
}

bool assigned_range(const struct variables *variables, const struct declaration *declaration, const struct body *body,
                    const struct place *place, const struct leaf *leaf, uint64_t scope_low, uint64_t *low,
                    uint64_t *high) {
    uint64_t start = *low;
    int64_t displacement;
    if (place->kind == VALUES_CONSTANT || place->kind == VALUES_ADDRESS)
        return true;
    if (declaration->scope == VARIABLE_PARAMETER) {
        bool on_callers_stack = place->kind == VALUES_AT_CFA && place->offset >= 0;
        if (!on_callers_stack && body->entry >= *low && body->entry < *high &&
            !prologue_end(variables, *low, *high, &start))
            return false;
    } else if (slot(variables, body, place, &displacement)) {
        if (!set_from(variables, leaf, displacement, scope_low, *high, &start))
            return false;
        start = start > *low ? start : *low;
    } else if (!line_after(variables, declaration, *low, *high, &start)) {
        return false;
    }
    *low = start;
    return *low < *high;
}
