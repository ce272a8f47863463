// From where on a variable that has one place for its whole scope holds something the program put there.
//
// The rules go by addresses, as if code were executed in that order: sound for a variable that is initialised where it
// is declared, and for one that is first assigned further down; a variable assigned on one of two paths only counts
// behind the first of them.
#include "debuginfo/variables.h"

#include <stdlib.h>
#include <string.h>

static int compare_rows(const void *left, const void *right) {
    const struct line_row *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if ((a->file < 0) != (b->file < 0))
        return a->file < 0 ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

// Unlike in code maps, rows that repeat the line before stay: the second row of a function ends its prologue.
void sort_line_rows(struct variables *variables) {
    variables->line_rows = variables->reader->rows;
    qsort(variables->line_rows.items, variables->line_rows.count, sizeof(struct line_row), compare_rows);
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

// The first instruction in the range whose operand is the slot at rbp + [from, to). Bytes are matched, not decoded: a
// ModRM byte that means "rbp + displacement" followed by that displacement.
static bool first_mention(const struct variables *variables, uint64_t low, uint64_t high, int64_t from, int64_t to,
                          uint64_t *mention) {
    const uint8_t *code = code_at(variables, low, high);
    for (uint64_t i = 1; code && i + 5 <= high - low; i++) {
        int64_t displacement;
        if ((code[i] & 0xc7) == 0x45) {
            displacement = (int8_t)code[i + 1];
        } else if ((code[i] & 0xc7) == 0x85) {
            int32_t wide;
            memcpy(&wide, code + i + 1, sizeof wide);
            displacement = wide;
        } else {
            continue;
        }
        if (displacement >= from && displacement < to) {
            *mention = low + i;
            return true;
        }
    }
    return false;
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

bool assigned_range(const struct variables *variables, const struct declaration *declaration, const struct body *body,
                    const struct place *place, uint64_t *low, uint64_t *high) {
    uint64_t start = *low, mention;
    int64_t displacement;
    if (place->kind == VALUES_CONSTANT || place->kind == VALUES_ADDRESS)
        return true;
    if (declaration->scope == VARIABLE_PARAMETER) {
        bool on_callers_stack = place->kind == VALUES_AT_CFA && place->offset >= 0;
        if (!on_callers_stack && body->entry >= *low && body->entry < *high &&
            !prologue_end(variables, *low, *high, &start))
            return false;
    } else {
        if (!line_after(variables, declaration, *low, *high, &start))
            return false;
        const struct shape *shape = &COLUMN_AT(&variables->shapes, struct shape, declaration->shape);
        if (slot(variables, body, place, &displacement) &&
            first_mention(variables, *low, *high, displacement, displacement + (int64_t)shape->bytes, &mention)) {
            size_t row = first_row_from(variables, mention);
            uint64_t behind = row < variables->line_rows.count
                                  ? COLUMN_AT(&variables->line_rows, struct line_row, row).address
                                  : *high;
            if (behind > start)
                start = behind;
        }
    }
    *low = start;
    return *low < *high;
}
