#include "values/evaluate.h"

#include <string.h>

#include "values/operands.h"

// Entry values may lead from caller to caller; expressions may hold entry values.
enum { DEEPEST = 6 };

struct evaluation {
    values_read_fn read;
    void *context;
    unsigned depth;
};

static enum values_answer evaluate(struct evaluation *how, const struct values_frame *frame,
                                   const struct values_location *location, uint64_t *answer);

static bool register_of(const struct values_frame *frame, unsigned number, uint64_t *value) {
    if (number >= UNWIND_PC)
        return false;
    *value = frame->registers.value[number];
    return frame->registers.known >> number & 1;
}

// The value of `number` when the frame's function was entered at ELF address `entry`, from the call that did it.
static bool entry_value(struct evaluation *how, const struct values_frame *frame, unsigned number, uint64_t entry,
                        uint64_t *value) {
    const struct values_frame *caller = frame + 1;
    if (frame->is_last || !caller->table || how->depth == 0)
        return false;
    const struct values_call_site *site =
        values_find_call(caller->table, caller->registers.value[UNWIND_PC] - caller->bias);
    // Another target means that the function was reached by a tail call, or through another module.
    if (!site || caller->table != frame->table || site->target != entry)
        return false;
    for (uint32_t i = 0; i < site->count; i++) {
        const struct values_call_parameter *parameter = &caller->table->call_parameters[site->first + i];
        if (parameter->reg != number)
            continue;
        uint64_t answer;
        how->depth--;
        enum values_answer kind = evaluate(how, caller, &caller->table->locations[parameter->location], &answer);
        how->depth++;
        if (kind == VALUES_IS_AT)
            return how->read(how->context, answer, value, sizeof *value);
        *value = answer;
        return kind == VALUES_IS;
    }
    return false;
}

// What an operator pushes without looking at the stack; false: it cannot be had.
static bool push_operand(struct evaluation *how, const struct values_frame *frame, uint8_t operator,
                         struct cursor *code, uint64_t *value) {
    if (operator_is_constant(operator)) {
        *value = constant_operand(operator, code);
        return true;
    }
    if (operator_is_register(operator)) {
        uint64_t offset = (uint64_t)read_sleb(code);
        bool known = register_of(frame, operator - DW_OP_breg0, value);
        *value += offset;
        return known;
    }
    if (operator == DW_OP_addr) {
        *value = read_bytes(code, 8) + frame->bias;
        return true;
    }
    if (operator == DW_OP_call_frame_cfa) {
        *value = frame->cfa;
        return frame->cfa_known;
    }
    uint64_t number = read_bytes(code, 1), entry = read_bytes(code, 4);
    return number < UNWIND_PC && entry_value(how, frame, (unsigned)number, entry, value);
}

static bool apply_binary(uint8_t operator, uint64_t a, uint64_t b, uint64_t *result) {
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (operator) {
    case DW_OP_and:
        *result = a & b;
        return true;
    case DW_OP_or:
        *result = a | b;
        return true;
    case DW_OP_xor:
        *result = a ^ b;
        return true;
    case DW_OP_plus:
        *result = a + b;
        return true;
    case DW_OP_minus:
        *result = a - b;
        return true;
    case DW_OP_mul:
        *result = a * b;
        return true;
    case DW_OP_div:
        if (b == 0 || (sa == INT64_MIN && sb == -1))
            return false;
        *result = (uint64_t)(sa / sb);
        return true;
    case DW_OP_mod:
        if (b == 0)
            return false;
        *result = a % b;
        return true;
    case DW_OP_shl:
        *result = b < 64 ? a << b : 0;
        return true;
    case DW_OP_shr:
        *result = b < 64 ? a >> b : 0;
        return true;
    case DW_OP_shra:
        *result = (uint64_t)(sa >> (b < 64 ? b : 63));
        return true;
    case DW_OP_eq:
        *result = sa == sb;
        return true;
    case DW_OP_ne:
        *result = sa != sb;
        return true;
    case DW_OP_lt:
        *result = sa < sb;
        return true;
    case DW_OP_le:
        *result = sa <= sb;
        return true;
    case DW_OP_gt:
        *result = sa > sb;
        return true;
    default: // DW_OP_ge
        *result = sa >= sb;
        return true;
    }
}

struct stack {
    uint64_t words[VALUES_EXPRESSION_STACK];
    unsigned size;
};

// Operators that rearrange or change the top of the stack; `stack->size` is at least 1.
static bool apply_to_stack(struct evaluation *how, uint8_t operator, struct cursor *code, struct stack *stack) {
    uint64_t *top = &stack->words[stack->size - 1], operand;
    switch (operator) {
    case DW_OP_deref:
        return how->read(how->context, *top, top, sizeof *top);
    case DW_OP_deref_size: {
        uint64_t address = *top;
        *top = 0;
        operand = read_bytes(code, 1);
        return operand >= 1 && operand <= 8 && how->read(how->context, address, top, operand);
    }
    case DW_OP_drop:
        stack->size--;
        return true;
    case DW_OP_abs:
        *top = (int64_t)*top < 0 ? -*top : *top;
        return true;
    case DW_OP_neg:
        *top = -*top;
        return true;
    case DW_OP_not:
        *top = ~*top;
        return true;
    case DW_OP_plus_uconst:
        *top += read_uleb(code);
        return true;
    case DW_OP_swap:
        if (stack->size < 2)
            return false;
        operand = top[-1];
        top[-1] = top[0];
        top[0] = operand;
        return true;
    case DW_OP_rot:
        if (stack->size < 3)
            return false;
        operand = top[0];
        top[0] = top[-1];
        top[-1] = top[-2];
        top[-2] = operand;
        return true;
    case DW_OP_dup:
    case DW_OP_over:
    case DW_OP_pick:
        operand = operator == DW_OP_pick ? read_bytes(code, 1) : operator == DW_OP_over;
        if (stack->size == VALUES_EXPRESSION_STACK || operand >= stack->size)
            return false;
        stack->words[stack->size] = stack->words[stack->size - 1 - operand];
        stack->size++;
        return true;
    default:
        return false;
    }
}

static bool run_expression(struct evaluation *how, const struct values_frame *frame, struct cursor code,
                           uint64_t *result) {
    struct stack stack = {.size = 0};
    while (code.at < code.end) {
        uint8_t operator = *code.at++;
        if (operator_pushes(operator)) {
            if (stack.size == VALUES_EXPRESSION_STACK ||
                !push_operand(how, frame, operator, &code, &stack.words[stack.size]))
                return false;
            stack.size++;
        } else if (operator_is_binary(operator)) {
            if (stack.size < 2 || !apply_binary(operator, stack.words[stack.size - 2], stack.words[stack.size - 1],
                                                &stack.words[stack.size - 2]))
                return false;
            stack.size--;
        } else if (stack.size == 0 || !apply_to_stack(how, operator, &code, &stack)) {
            return false;
        }
    }
    if (stack.size == 0 || code.bad)
        return false;
    *result = stack.words[stack.size - 1];
    return true;
}

static enum values_answer evaluate(struct evaluation *how, const struct values_frame *frame,
                                   const struct values_location *location, uint64_t *answer) {
    uint64_t offset = (uint64_t)(int64_t)location->offset;
    switch (location->kind) {
    case VALUES_REGISTER:
        return register_of(frame, location->reg, answer) ? VALUES_IS : VALUES_UNREADABLE;
    case VALUES_VECTOR:
        if (!frame->vectors)
            return VALUES_UNREADABLE;
        memcpy(answer, frame->vectors + 16 * location->reg, sizeof *answer);
        return VALUES_IS;
    case VALUES_AT_CFA:
        *answer = frame->cfa + offset;
        return frame->cfa_known ? VALUES_IS_AT : VALUES_UNREADABLE;
    case VALUES_AT_REGISTER:
        if (!register_of(frame, location->reg, answer))
            return VALUES_UNREADABLE;
        *answer += offset;
        return VALUES_IS_AT;
    case VALUES_AT_ADDRESS:
        *answer = location->address + frame->bias;
        return VALUES_IS_AT;
    case VALUES_AT_TLS:
        *answer = frame->thread_block + offset;
        return frame->thread_block ? VALUES_IS_AT : VALUES_UNREADABLE;
    case VALUES_CFA_PLUS:
        *answer = frame->cfa + offset;
        return frame->cfa_known ? VALUES_IS : VALUES_UNREADABLE;
    case VALUES_REGISTER_PLUS:
        if (!register_of(frame, location->reg, answer))
            return VALUES_UNREADABLE;
        *answer += offset;
        return VALUES_IS;
    case VALUES_CONSTANT:
        *answer = location->address;
        return VALUES_IS;
    case VALUES_ADDRESS:
        *answer = location->address + frame->bias;
        return VALUES_IS;
    case VALUES_ENTRY:
        return entry_value(how, frame, location->reg, location->address, answer) ? VALUES_IS : VALUES_UNREADABLE;
    default: { // VALUES_EXPRESSION
        const uint8_t *start = frame->table->expressions + location->offset;
        struct cursor code = {start, start + location->address, false};
        if (!run_expression(how, frame, code, answer))
            return VALUES_UNREADABLE;
        return location->flags & VALUES_FLAG_STACK_VALUE ? VALUES_IS : VALUES_IS_AT;
    }
    }
}

enum values_answer values_evaluate(const struct values_frame *frame, const struct values_location *location,
                                   values_read_fn read, void *context, uint64_t *answer) {
    struct evaluation how = {read, context, DEEPEST};
    return evaluate(&how, frame, location, answer);
}
