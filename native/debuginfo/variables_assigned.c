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

// The first mention in the code that may set [from, to) below the CFA; the object that it is of begins at `object`.
static bool first_mention(const struct variables *variables, const struct slot_registers *registers,
                          const uint8_t *code, uint64_t size, int64_t from, int64_t to, int64_t object,
                          struct mention *mention) {
    for (uint64_t at = 0; at < size; at += variables->machine->alignment)
        if (variables->machine->mention(code, size, at, registers, mention) && mention->offset >= object &&
            mention->offset < to && mention->offset + (int64_t)mention->bytes > from)
            return true;
    return false;
}

// The next call, which is who gets an address that was just taken: clang counts taking it to the statement before.
static uint64_t next_call(const struct variables *variables, uint64_t address, uint64_t high) {
    const struct code_machine *machine = variables->machine;
    const uint8_t *code = code_at(variables, address, high);
    for (uint64_t i = 0; code && i + machine->call_bytes <= high - address; i += machine->alignment) {
        uint64_t target;
        if (machine->call_target(code + i, machine->call_bytes, address + i + machine->call_bytes, &target) &&
            code_at(variables, target, target + 1))
            return address + i;
    }
    return address;
}

// The first row behind an instruction; behind its statement where that is what counts.
static uint64_t row_behind(const struct variables *variables, const struct mention *mention, uint64_t address,
                           uint64_t high) {
    uint64_t from = mention->is_address ? next_call(variables, address, high) : address;
    size_t row = first_row_from(variables, from + 1);
    const struct line_row *rows = (const struct line_row *)variables->line_rows.items;
    int32_t line = row > 0 ? rows[row - 1].line : 0;
    while (mention->is_address && row < variables->line_rows.count && (rows[row].line == line || !rows[row].line))
        row++;
    return row < variables->line_rows.count ? rows[row].address : high;
}

// Where the jump leads that ends at `end` of the code; 0 if it is none, or leads back.
static uint64_t jump_over(const struct code_machine *machine, const uint8_t *code, uint64_t end) {
    uint64_t target;
    return machine->jump_target(code, end, end, &target) && target > end && target - end < INT32_MAX ? target : 0;
}

// Where an assignment is one of two branches, the other one lies behind it but is not reached from it: there a jump
// leads over it. Both meet where that jump ends.
static uint64_t behind_other_branch(const struct code_machine *machine, const uint8_t *code, uint64_t mention,
                                    uint64_t behind, uint64_t size) {
    // The jump ends the assignment's statement (gcc), or has a row of its own (clang).
    const uint64_t ends[] = {behind, behind + machine->jump_bytes[0], behind + machine->jump_bytes[1]};
    for (size_t i = 0; i < sizeof ends / sizeof *ends && ends[i] < size; i++) {
        uint64_t other = ends[i], meet = jump_over(machine, code, other);
        if (meet && meet <= size && machine->branches_to(code, mention, 0, other))
            return meet;
    }
    return behind;
}

// Where slots are addressed by registers that the prologue sets, as at -O0: where this one lies below the CFA.
static bool slot(const struct variables *variables, const struct body *body, const struct place *place,
                 struct slot_registers *registers, int64_t *offset) {
    enum { PROLOGUE_BYTES = 32, LEAST_BYTES = 12 };
    uint64_t size = PROLOGUE_BYTES;
    const uint8_t *code = code_at(variables, body->entry, body->entry + size);
    if (!code) {
        size = LEAST_BYTES;
        code = code_at(variables, body->entry, body->entry + size);
    }
    if (!code || !variables->machine->slot_registers(code, size, registers))
        return false;
    *offset = place->offset;
    if (place->kind == VALUES_AT_CFA)
        return *offset < 0;
    for (unsigned i = 0; place->kind == VALUES_AT_REGISTER && i < registers->count; i++)
        if (registers->number[i] == place->reg) {
            *offset -= registers->below[i];
            return *offset < 0;
        }
    return false;
}

// Where the slot's part that the leaf is was first set, by the order of addresses.
static bool set_from(const struct variables *variables, const struct slot_registers *registers, const struct leaf *leaf,
                     int64_t object, uint64_t low, uint64_t high, uint64_t *start) {
    const uint8_t *code = code_at(variables, low, high);
    int64_t from = object + leaf->offset;
    struct mention mention;
    if (!code || !first_mention(variables, registers, code, high - low, from, from + leaf->size, object, &mention))
        return false;
    uint64_t behind = row_behind(variables, &mention, low + mention.at, high);
    *start = behind < high ? low + behind_other_branch(variables->machine, code, mention.at, behind - low, high - low)
                           : high;
    return *start < high;
}

bool assigned_range(const struct variables *variables, const struct declaration *declaration, const struct body *body,
                    const struct place *place, const struct leaf *leaf, uint64_t scope_low, uint64_t *low,
                    uint64_t *high) {
    uint64_t start = *low;
    int64_t offset;
    struct slot_registers registers;
    if (place->kind == VALUES_CONSTANT || place->kind == VALUES_ADDRESS)
        return true;
    if (declaration->scope == VARIABLE_PARAMETER) {
        bool on_callers_stack = place->kind == VALUES_AT_CFA && place->offset >= 0;
        if (!on_callers_stack && body->entry >= *low && body->entry < *high &&
            !prologue_end(variables, *low, *high, &start))
            return false;
    } else if (slot(variables, body, place, &registers, &offset)) {
        if (!set_from(variables, &registers, leaf, offset, scope_low, *high, &start))
            return false;
        start = start > *low ? start : *low;
    } else if (!line_after(variables, declaration, *low, *high, &start)) {
        return false;
    }
    *low = start;
    return *low < *high;
}
