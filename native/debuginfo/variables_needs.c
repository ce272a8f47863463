#include "debuginfo/variables_needs.h"

#include "values/operands.h"

static bool fits(int64_t offset) {
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

static void want(struct needs *needs, struct wanted wanted) {
    bool on_stack = wanted.base == VALUES_BASE_CFA ||
                    (wanted.base < VALUES_BASE_CFA && needs->variables->machine->points_to_stack >> wanted.base & 1);
    wanted.is_slot = on_stack && !wanted.behind;
    if (needs->count < WANTED_MAX && wanted.length && wanted.length <= VALUES_ITEM_BYTES_MAX)
        needs->wanted[needs->count++] = wanted;
}

static void want_at(struct needs *needs, struct symbol symbol, uint32_t length) {
    if (symbol.base < VALUES_BASE_POINTER && fits(symbol.offset))
        want(needs, (struct wanted){.base = symbol.base, .offset = (int32_t)symbol.offset, .length = length});
}

void want_fields(struct needs *needs, const struct values_location *location, struct found found) {
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
        needs->registers |= 1u << (operator - DW_OP_breg0);
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
            stack.words[stack.count++] = pushed(needs, operator, &code);
        } else if (operator_is_binary(operator)) {
            if (stack.count < 2)
                return unknown;
            struct symbol *left = &stack.words[stack.count - 2];
            bool adds = operator == DW_OP_plus || operator == DW_OP_minus;
            *left = adds ? sum(left[0], left[1], operator == DW_OP_minus) : unknown;
            stack.count--;
        } else if (!stack.count || !change_top(needs, operator, &code, &stack)) {
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
        needs->vectors |= 1u << location->reg;
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

struct found need_location(struct needs *needs, const struct values_location *location) {
    struct found found = find_location(needs, location);
    if (found.symbol.base < VALUES_BASE_CFA)
        needs->registers |= 1u << found.symbol.base;
    if (found.is_there)
        want_at(needs, found.symbol, location->size);
    want_fields(needs, location, found);
    return found;
}
