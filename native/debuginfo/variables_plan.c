// Plans (values/table.h): what to keep of a frame so that the variables of its list can be told later.
#include "debuginfo/isolate.h"
#include "debuginfo/variables.h"

#include <stdlib.h>
#include <string.h>

#include "values/operands.h"

enum { WANTED_MAX = 4096, BRIDGED_BYTES = 7 };

// Bytes that some location reads: at a base plus an offset, or behind the pointer that lies there.
struct wanted {
    uint8_t base;
    bool behind;
    int32_t pointer_at; // the base's offset of that pointer
    int32_t offset;
    uint32_t length;
};

struct needs {
    const struct variables *variables;
    uint16_t registers, vectors;
    struct wanted *wanted;
    size_t count;
};

// A word of which only this is known: base plus offset. `base` may be one of the two below.
enum { SYMBOL_NUMBER = VALUES_BASES, SYMBOL_UNKNOWN };
struct symbol {
    uint8_t base;
    int64_t offset;
};

// Where a location's value is, or what it is: base plus offset.
struct found {
    struct symbol symbol;
    bool is_there; // at the symbol, instead of being it
};

static bool fits(int64_t offset) {
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

static void want(struct needs *needs, struct wanted wanted) {
    if (needs->count < WANTED_MAX && wanted.length && wanted.length <= VALUES_ITEM_BYTES_MAX)
        needs->wanted[needs->count++] = wanted;
}

static void want_at(struct needs *needs, struct symbol symbol, uint32_t length) {
    if (symbol.base < VALUES_BASE_POINTER && fits(symbol.offset))
        want(needs, (struct wanted){.base = symbol.base, .offset = (int32_t)symbol.offset, .length = length});
}

// What lies behind the pointer that `location` gives, found there.
static void want_fields(struct needs *needs, const struct values_location *location, struct found found) {
    const struct values_field *fields = (const struct values_field *)needs->variables->fields.bytes.items;
    struct symbol symbol = found.symbol;
    if (symbol.base >= VALUES_BASE_POINTER || !fits(symbol.offset))
        return;
    for (uint32_t i = 0; i < location->field_count; i++) {
        const struct values_field *field = &fields[location->first_field + i];
        uint32_t length = field->flags & VALUES_FLAG_SPAN ? 16 : field->size;
        int64_t offset = field->offset + (found.is_there ? 0 : symbol.offset);
        if (fits(offset))
            want(needs, (struct wanted){.base = symbol.base,
                                        .behind = found.is_there,
                                        .pointer_at = found.is_there ? (int32_t)symbol.offset : 0,
                                        .offset = (int32_t)offset,
                                        .length = length});
    }
}

struct symbols {
    struct symbol words[VALUES_EXPRESSION_STACK];
    unsigned count;
};

static struct symbol sum(struct symbol left, struct symbol right, bool negative) {
    struct symbol unknown = {.base = SYMBOL_UNKNOWN};
    if (right.base == SYMBOL_NUMBER && left.base != SYMBOL_UNKNOWN)
        return (struct symbol){left.base, negative ? left.offset - right.offset : left.offset + right.offset};
    if (left.base == SYMBOL_NUMBER && right.base < VALUES_BASES && !negative)
        return (struct symbol){right.base, left.offset + right.offset};
    return unknown;
}

static struct symbol pushed(struct needs *needs, uint8_t operator, struct cursor *code) {
    if (operator_is_constant(operator))
        return (struct symbol){SYMBOL_NUMBER, (int64_t)constant_operand(operator, code)};
    if (operator_is_register(operator)) {
        needs->registers |= (uint16_t)(1 << (operator - DW_OP_breg0));
        return (struct symbol){(uint8_t)(operator - DW_OP_breg0), read_sleb(code)};
    }
    if (operator == DW_OP_addr)
        return (struct symbol){VALUES_BASE_BIAS, (int64_t)read_bytes(code, 8)};
    if (operator == DW_OP_call_frame_cfa)
        return (struct symbol){VALUES_BASE_CFA, 0};
    read_bytes(code, 5); // an entry value: the caller's plan sees to it
    return (struct symbol){.base = SYMBOL_UNKNOWN};
}

// Operators that change the top; false where words move in ways that are not followed.
static bool change_top(struct needs *needs, uint8_t operator, struct cursor *code, struct symbols *stack) {
    struct symbol *top = &stack->words[stack->count - 1];
    switch (operator) {
    case DW_OP_deref:
        want_at(needs, *top, 8);
        break;
    case DW_OP_deref_size:
        want_at(needs, *top, (uint32_t)read_bytes(code, 1));
        break;
    case DW_OP_plus_uconst:
        *top = sum(*top, (struct symbol){SYMBOL_NUMBER, (int64_t)read_uleb(code)}, false);
        return true;
    case DW_OP_dup:
        if (stack->count == VALUES_EXPRESSION_STACK)
            return false;
        top[1] = top[0];
        stack->count++;
        return true;
    case DW_OP_drop:
        stack->count--;
        return true;
    case DW_OP_abs:
    case DW_OP_neg:
    case DW_OP_not:
        break;
    default:
        return false;
    }
    *top = (struct symbol){.base = SYMBOL_UNKNOWN};
    return true;
}

// What an expression leaves, as far as that can be told without running it.
static struct symbol follow_expression(struct needs *needs, const struct values_location *location) {
    struct symbol unknown = {.base = SYMBOL_UNKNOWN};
    const uint8_t *start = (const uint8_t *)needs->variables->expressions.bytes.items + location->offset;
    struct cursor code = {start, start + location->address, false};
    struct symbols stack = {.count = 0};
    while (code.at < code.end) {
        uint8_t operator = *code.at++;
        if (operator_pushes(operator)) {
            if (stack.count == VALUES_EXPRESSION_STACK)
                return unknown;
            stack.words[stack.count++] = pushed(needs, operator, & code);
        } else if (operator_is_binary(operator)) {
            if (stack.count < 2)
                return unknown;
            struct symbol *left = &stack.words[stack.count - 2];
            bool adds = operator == DW_OP_plus || operator == DW_OP_minus;
            *left = adds ? sum(left[0], left[1], operator == DW_OP_minus) : unknown;
            stack.count--;
        } else if (!stack.count || !change_top(needs, operator, & code, &stack)) {
            return unknown;
        }
    }
    return stack.count && !code.bad ? stack.words[stack.count - 1] : unknown;
}

static struct found find_location(struct needs *needs, const struct values_location *location) {
    struct symbol in_register = {location->reg, location->offset}, in_frame = {VALUES_BASE_CFA, location->offset};
    struct symbol in_module = {VALUES_BASE_BIAS, (int64_t)location->address};
    switch (location->kind) {
    case VALUES_VECTOR:
        needs->vectors |= (uint16_t)(1 << location->reg);
        break;
    case VALUES_REGISTER:
        return (struct found){{location->reg, 0}, false};
    case VALUES_REGISTER_PLUS:
    case VALUES_AT_REGISTER:
        return (struct found){in_register, location->kind == VALUES_AT_REGISTER};
    case VALUES_AT_CFA:
    case VALUES_CFA_PLUS:
        return (struct found){in_frame, location->kind == VALUES_AT_CFA};
    case VALUES_AT_TLS:
        return (struct found){{VALUES_BASE_TLS, location->offset}, true};
    case VALUES_AT_ADDRESS:
    case VALUES_ADDRESS:
        return (struct found){in_module, location->kind == VALUES_AT_ADDRESS};
    case VALUES_EXPRESSION:
        return (struct found){follow_expression(needs, location), !(location->flags & VALUES_FLAG_STACK_VALUE)};
    default: // constants, and entry values: the caller's plan sees to them
        break;
    }
    return (struct found){{.base = SYMBOL_UNKNOWN}, false};
}

static struct found need_location(struct needs *needs, const struct values_location *location) {
    struct found found = find_location(needs, location);
    if (found.symbol.base < VALUES_BASE_CFA)
        needs->registers |= (uint16_t)(1 << found.symbol.base);
    if (found.is_there)
        want_at(needs, found.symbol, location->size);
    want_fields(needs, location, found);
    return found;
}

static bool is_slot(const struct wanted *wanted) {
    bool on_stack = wanted->base == VALUES_BASE_CFA || wanted->base == 6 || wanted->base == 7;
    return on_stack && !wanted->behind;
}

static int in_order(const void *left, const void *right) {
    const struct wanted *a = left, *b = right;
    if (is_slot(a) != is_slot(b))
        return is_slot(a) ? -1 : 1;
    if (a->behind != b->behind)
        return a->behind ? 1 : -1;
    if (a->base != b->base)
        return a->base < b->base ? -1 : 1;
    if (a->pointer_at != b->pointer_at)
        return a->pointer_at < b->pointer_at ? -1 : 1;
    return a->offset != b->offset ? (a->offset < b->offset ? -1 : 1) : a->length < b->length ? -1 : 1;
}

static bool same_object(const struct wanted *a, const struct wanted *b) {
    return a->base == b->base && a->behind == b->behind && a->pointer_at == b->pointer_at;
}

// Neighbours become one, padding between them included.
static void merge(struct needs *needs) {
    size_t kept = 0;
    if (needs->count)
        qsort(needs->wanted, needs->count, sizeof *needs->wanted, in_order);
    for (size_t i = 0; i < needs->count; i++) {
        struct wanted *last = kept ? &needs->wanted[kept - 1] : NULL, *next = &needs->wanted[i];
        int64_t end = last ? (int64_t)last->offset + last->length : 0, next_end = (int64_t)next->offset + next->length;
        if (last && same_object(last, next) && next->offset <= end + BRIDGED_BYTES &&
            next_end - last->offset <= VALUES_ITEM_BYTES_MAX)
            last->length = (uint32_t)((end > next_end ? end : next_end) - last->offset);
        else
            needs->wanted[kept++] = *next;
    }
    needs->count = kept;
}

struct plan_image {
    struct values_plan head;
    struct values_item items[VALUES_PLAN_ITEMS_MAX];
    size_t count;
};

static bool add_item(struct plan_image *plan, struct values_item item) {
    if (plan->count == VALUES_PLAN_ITEMS_MAX || plan->head.bytes + item.length > VALUES_PLAN_BYTES_MAX)
        return false;
    plan->items[plan->count++] = item;
    plan->head.bytes += item.length;
    return true;
}

static int32_t plan_of(struct needs *needs, struct variables *variables) {
    struct plan_image plan = {.head = {.registers = needs->registers, .vectors = needs->vectors}};
    merge(needs);
    for (size_t i = 0; i < needs->count; i++) {
        const struct wanted *wanted = &needs->wanted[i];
        struct values_item load = {wanted->base, VALUES_ITEM_LOADS, 8, wanted->pointer_at};
        struct values_item item = {wanted->behind ? (uint8_t)VALUES_BASE_POINTER : wanted->base, 0,
                                   (uint16_t)wanted->length, wanted->offset};
        if (wanted->behind && (!i || !same_object(wanted, wanted - 1)) && !add_item(&plan, load))
            break;
        if (!add_item(&plan, item))
            break;
        if (is_slot(wanted))
            plan.head.slots++;
    }
    plan.head.others = (uint8_t)(plan.count - plan.head.slots);
    return texts_intern(&variables->plans, (const char *)&plan,
                        sizeof plan.head + plan.count * sizeof(struct values_item));
}

static int by_entry(const void *left, const void *right) {
    const struct values_location *a = left, *b = right;
    return a->address != b->address ? (a->address < b->address ? -1 : 1) : (int)a->reg - (int)b->reg;
}

// Pointers with something behind them that only their function's callers still know, by function and register.
static struct column entry_pointers(const struct variables *variables) {
    struct column found = COLUMN(struct values_location);
    const struct values_location *locations = (const struct values_location *)variables->locations.bytes.items;
    for (size_t i = 0; i + 1 < variables->locations.offsets.count; i++)
        if (locations[i].kind == VALUES_ENTRY && locations[i].field_count)
            *(struct values_location *)column_add(&found) = locations[i];
    if (found.count)
        qsort(found.items, found.count, sizeof *locations, by_entry);
    return found;
}

static void want_entry_fields(struct needs *needs, const struct column *pointers, uint32_t target, uint32_t reg,
                              struct found passed) {
    struct values_location key = {.address = target, .reg = (uint8_t)reg};
    const struct values_location *all = (const struct values_location *)pointers->items;
    size_t low = 0, high = pointers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_entry(&all[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < pointers->count && by_entry(&all[low], &key) == 0; low++)
        want_fields(needs, &all[low], passed);
}

// What the call that returns into [low, high) has passed, and its callee may ask for.
static void need_calls(struct needs *needs, const struct column *pointers, uint32_t low, uint32_t high,
                       size_t *next_site) {
    const struct variables *variables = needs->variables;
    const struct values_location *locations = (const struct values_location *)variables->locations.bytes.items;
    for (; *next_site < variables->call_sites.count; (*next_site)++) {
        const struct values_call_site *site = &COLUMN_AT(&variables->call_sites, struct values_call_site, *next_site);
        if (site->return_address - 1 >= high)
            return;
        for (uint32_t i = 0; site->return_address - 1 >= low && i < site->count; i++) {
            const struct values_call_parameter *parameter =
                &COLUMN_AT(&variables->call_parameters, struct values_call_parameter, site->first + i);
            struct found passed = need_location(needs, &locations[parameter->location]);
            want_entry_fields(needs, pointers, site->target, parameter->reg, passed);
        }
    }
}

void make_plans(struct variables *variables) {
    const struct values_location *locations = (const struct values_location *)variables->locations.bytes.items;
    const uint32_t *lists = (const uint32_t *)variables->lists.bytes.items;
    struct needs needs = {.variables = variables, .wanted = calloc(WANTED_MAX, sizeof *needs.wanted)};
    if (!needs.wanted)
        isolate_give_up();
    struct column pointers = entry_pointers(variables);
    size_t next_site = 0, count = variables->segments.count;
    for (size_t i = 0; i < count; i++) {
        struct values_segment *segment = &COLUMN_AT(&variables->segments, struct values_segment, i);
        needs.registers = needs.vectors = 0;
        needs.count = 0;
        for (uint32_t k = 0; k < segment->count; k++)
            need_location(&needs, &locations[lists[segment->first + k]]);
        need_calls(&needs, &pointers, segment->address, i + 1 < count ? segment[1].address : UINT32_MAX, &next_site);
        int32_t plan = plan_of(&needs, variables);
        segment->plan = (uint32_t)(COLUMN_AT(&variables->plans.offsets, uint64_t, plan) / sizeof(uint64_t));
    }
    free(pointers.items);
    free(needs.wanted);
}
