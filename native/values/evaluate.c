#include "values/evaluate.h"

#include <dwarf.h>
#include <string.h>

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
        values_find_call(caller->table, caller->registers.value[UNWIND_RIP] - caller->bias);
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

struct bytes {
    const uint8_t *at, *end;
};

static bool take_fixed(struct bytes *bytes, size_t size, uint64_t *value) {
    *value = 0;
    if ((size_t)(bytes->end - bytes->at) < size)
        return false;
    memcpy(value, bytes->at, size);
    bytes->at += size;
    return true;
}

static bool take_leb(struct bytes *bytes, bool is_signed, uint64_t *value) {
    unsigned shift = 0;
    *value = 0;
    for (;;) {
        if (bytes->at == bytes->end || shift > 63)
            return false;
        uint8_t byte = *bytes->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if (is_signed && shift < 64 && (byte & 0x40))
            *value |= ~(uint64_t)0 << shift;
        return true;
    }
}

static uint64_t sign_extend(uint64_t value, size_t size) {
    unsigned shift = 64 - 8 * (unsigned)size;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

// What an operator pushes without looking at the stack; false: it is another kind, or cannot be had.
static bool push_operand(struct evaluation *how, const struct values_frame *frame, uint8_t operator, struct bytes *code,
                         uint64_t *value) {
    if (operator >= DW_OP_lit0 && operator <= DW_OP_lit31) {
        *value = operator - DW_OP_lit0;
        return true;
    }
    uint64_t base, number, entry;
    if (operator >= DW_OP_breg0 && operator <= DW_OP_breg15) {
        if (!take_leb(code, true, value) || !register_of(frame, operator - DW_OP_breg0, &base))
            return false;
        *value += base;
        return true;
    }
    switch (operator) {
    case DW_OP_addr:
        if (!take_fixed(code, 8, value))
            return false;
        *value += frame->bias;
        return true;
    case DW_OP_const1u:
        return take_fixed(code, 1, value);
    case DW_OP_const2u:
        return take_fixed(code, 2, value);
    case DW_OP_const4u:
        return take_fixed(code, 4, value);
    case DW_OP_const8u:
    case DW_OP_const8s:
        return take_fixed(code, 8, value);
    case DW_OP_const1s:
    case DW_OP_const2s:
    case DW_OP_const4s: {
        size_t size = operator == DW_OP_const1s ? 1 : operator == DW_OP_const2s ? 2 : 4;
        if (!take_fixed(code, size, value))
            return false;
        *value = sign_extend(*value, size);
        return true;
    }
    case DW_OP_constu:
        return take_leb(code, false, value);
    case DW_OP_consts:
        return take_leb(code, true, value);
    case DW_OP_call_frame_cfa:
        *value = frame->cfa;
        return frame->cfa_known;
    case DW_OP_entry_value:
        return take_fixed(code, 1, &number) && number < 16 && take_fixed(code, 4, &entry) &&
               entry_value(how, frame, (unsigned)number, entry, value);
    default:
        return false;
    }
}

static bool is_binary(uint8_t operator) {
    switch (operator) {
    case DW_OP_and:
    case DW_OP_or:
    case DW_OP_xor:
    case DW_OP_plus:
    case DW_OP_minus:
    case DW_OP_mul:
    case DW_OP_div:
    case DW_OP_mod:
    case DW_OP_shl:
    case DW_OP_shr:
    case DW_OP_shra:
    case DW_OP_eq:
    case DW_OP_ne:
    case DW_OP_lt:
    case DW_OP_le:
    case DW_OP_gt:
    case DW_OP_ge:
        return true;
    default:
        return false;
    }
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
static bool apply_to_stack(struct evaluation *how, uint8_t operator, struct bytes *code, struct stack *stack) {
    uint64_t *top = &stack->words[stack->size - 1], operand;
    switch (operator) {
    case DW_OP_deref:
        return how->read(how->context, *top, top, sizeof *top);
    case DW_OP_deref_size: {
        uint64_t address = *top;
        *top = 0;
        return take_fixed(code, 1, &operand) && operand >= 1 && operand <= 8 &&
               how->read(how->context, address, top, operand);
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
        if (!take_leb(code, false, &operand))
            return false;
        *top += operand;
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
        operand = operator == DW_OP_over;
        if (operator == DW_OP_pick && !take_fixed(code, 1, &operand))
            return false;
        if (stack->size == VALUES_EXPRESSION_STACK || operand >= stack->size)
            return false;
        stack->words[stack->size] = stack->words[stack->size - 1 - operand];
        stack->size++;
        return true;
    default:
        return false;
    }
}

static bool pushes(uint8_t operator) {
    return (operator >= DW_OP_lit0 && operator <= DW_OP_lit31) ||
           (operator >= DW_OP_breg0 && operator <= DW_OP_breg15) || operator == DW_OP_addr ||
           (operator >= DW_OP_const1u && operator <= DW_OP_consts) || operator == DW_OP_call_frame_cfa ||
           operator == DW_OP_entry_value;
}

static bool run_expression(struct evaluation *how, const struct values_frame *frame, struct bytes code,
                           uint64_t *result) {
    struct stack stack = {.size = 0};
    while (code.at < code.end) {
        uint8_t operator = *code.at++;
        if (pushes(operator)) {
            if (stack.size == VALUES_EXPRESSION_STACK ||
                !push_operand(how, frame, operator, &code, &stack.words[stack.size]))
                return false;
            stack.size++;
        } else if (is_binary(operator)) {
            if (stack.size < 2 || !apply_binary(operator, stack.words[stack.size - 2], stack.words[stack.size - 1],
                                                &stack.words[stack.size - 2]))
                return false;
            stack.size--;
        } else if (stack.size == 0 || !apply_to_stack(how, operator, &code, &stack)) {
            return false;
        }
    }
    if (stack.size == 0)
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
        struct bytes code = {start, start + location->address};
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
