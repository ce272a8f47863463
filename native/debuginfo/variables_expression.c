// Rewriting DWARF expressions into the subset that values/table.h describes.
//
// DWARF's stack holds typed numbers, ours 64-bit words. Every integer that has a type is kept extended to 64 bits as
// its type says, after every operator that could have left it otherwise; then the 64-bit operators give the same result
// for every type but the widest unsigned one, for which division and comparison are given up.
#include "debuginfo/variables.h"

#include <string.h>

#include "values/operators.h"

// A word's type: generic (bytes = 0: 64 bits, sign as the operator likes) or an integer's.
struct word {
    uint8_t bytes;
    bool is_signed;
};

struct machine {
    const struct body *body;
    struct place *place;
    struct word stack[VALUES_EXPRESSION_STACK];
    int depth;
};

static bool push(struct machine *machine, struct word word) {
    if (machine->depth == VALUES_EXPRESSION_STACK)
        return false;
    machine->stack[machine->depth++] = word;
    return true;
}

static bool push_register(struct machine *machine, unsigned reg, int64_t offset) {
    machine->place->uses_dying |= register_is_dying(machine->body, reg);
    return reg < machine->body->machine->registers &&
           emit_signed(machine->place, (uint8_t)(DW_OP_breg0 + reg), offset) && push(machine, (struct word){0});
}

static bool push_frame(struct machine *machine, int64_t offset) {
    switch (machine->body->frame) {
    case FRAME_REGISTER:
        return push_register(machine, machine->body->frame_register, machine->body->frame_offset + offset);
    case FRAME_CFA:
        return emit_operator(machine->place, DW_OP_call_frame_cfa) && push(machine, (struct word){0}) &&
               (!offset ||
                (emit_signed(machine->place, DW_OP_consts, offset) && emit_operator(machine->place, DW_OP_plus)));
    default:
        return false;
    }
}

static bool push_constant(struct machine *machine, int64_t value) {
    return emit_signed(machine->place, DW_OP_consts, value) && push(machine, (struct word){0});
}

static struct word *top(struct machine *machine) {
    return machine->depth ? &machine->stack[machine->depth - 1] : NULL;
}

// Extends the top word as its type says.
static bool extend(struct machine *machine) {
    struct word *word = top(machine);
    if (!word)
        return false;
    uint64_t unused = word->bytes ? 64 - 8u * word->bytes : 0;
    return !unused ||
           (emit_unsigned(machine->place, DW_OP_constu, unused) && emit_operator(machine->place, DW_OP_shl) &&
            emit_unsigned(machine->place, DW_OP_constu, unused) &&
            emit_operator(machine->place, word->is_signed ? DW_OP_shra : DW_OP_shr));
}

static bool convert(struct machine *machine, struct word word) {
    if (!top(machine))
        return false;
    *top(machine) = word;
    return extend(machine);
}

// The integer type at an offset within the attribute's unit; 0 is the generic type.
static bool word_type(Dwarf_Attribute *attribute, const Dwarf_Op *operator, uint64_t offset, struct word *word) {
    Dwarf_Die type;
    Dwarf_Attribute encoding_attribute;
    Dwarf_Word encoding;
    *word = (struct word){0};
    if (!offset)
        return true;
    if (dwarf_getlocation_die(attribute, operator, &type) || !dwarf_attr(&type, DW_AT_encoding, &encoding_attribute) ||
        dwarf_formudata(&encoding_attribute, &encoding))
        return false;
    int bytes = dwarf_bytesize(&type);
    word->bytes = (uint8_t)bytes;
    word->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    bool is_integer = word->is_signed || encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char ||
                      encoding == DW_ATE_boolean || encoding == DW_ATE_UTF;
    return is_integer && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

// Whether the 64-bit signed comparison or division of extended words is that of their type.
static bool is_signed_safe(struct word word) {
    return !word.bytes || word.is_signed || word.bytes < 8;
}

static bool binary(struct machine *machine, uint8_t operator) {
    if (machine->depth < 2)
        return false;
    struct word right = machine->stack[machine->depth - 1], left = machine->stack[machine->depth - 2];
    machine->depth--;
    struct word *result = top(machine);
    if (!emit_operator(machine->place, operator))
        return false;
    switch (operator) {
    case DW_OP_and:
    case DW_OP_or:
    case DW_OP_xor:
        return true;
    case DW_OP_plus:
    case DW_OP_minus:
    case DW_OP_mul:
    case DW_OP_shl:
        return extend(machine);
    case DW_OP_shr:
        return !left.is_signed;
    case DW_OP_shra:
        return !left.bytes || left.is_signed;
    case DW_OP_mod: // of generic words unsigned
        return !left.is_signed && !right.is_signed;
    case DW_OP_div:
        return is_signed_safe(left) && is_signed_safe(right) && extend(machine);
    default: // comparisons
        *result = (struct word){0};
        return is_signed_safe(left) && is_signed_safe(right);
    }
}

static bool unary(struct machine *machine, uint8_t operator) {
    struct word *word = top(machine);
    if (!word || (operator == DW_OP_abs && word->bytes && !word->is_signed))
        return false;
    return emit_operator(machine->place, operator) && extend(machine);
}

static bool shuffle(struct machine *machine, const Dwarf_Op *operator) {
    struct word *stack = machine->stack;
    int depth = machine->depth;
    if (operator->atom == DW_OP_pick) {
        uint8_t bytes[2] = {DW_OP_pick, (uint8_t)operator->number};
        return operator->number < (uint64_t)depth && emit_bytes(machine->place, bytes, 2) &&
               push(machine, stack[depth - 1 - (int)operator->number]);
    }
    int needed = operator->atom == DW_OP_rot ? 3 : operator->atom == DW_OP_dup || operator->atom == DW_OP_drop ? 1 : 2;
    if (depth < needed || !emit_operator(machine->place, operator->atom))
        return false;
    struct word last = stack[depth - 1];
    switch (operator->atom) {
    case DW_OP_dup:
        return push(machine, last);
    case DW_OP_over:
        return push(machine, stack[depth - 2]);
    case DW_OP_drop:
        machine->depth--;
        return true;
    case DW_OP_swap:
        stack[depth - 1] = stack[depth - 2];
        stack[depth - 2] = last;
        return true;
    default: // rot: the top becomes the third
        stack[depth - 1] = stack[depth - 2];
        stack[depth - 2] = stack[depth - 3];
        stack[depth - 3] = last;
        return true;
    }
}

static bool dereference(struct machine *machine, uint64_t bytes, struct word type) {
    if (!top(machine) || top(machine)->bytes || !(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8))
        return false;
    uint8_t sized[2] = {DW_OP_deref_size, (uint8_t)bytes};
    bool emitted = bytes == 8 ? emit_operator(machine->place, DW_OP_deref) : emit_bytes(machine->place, sized, 2);
    *top(machine) = type;
    return emitted && (!type.is_signed || extend(machine));
}

static bool push_entry(struct machine *machine, Dwarf_Attribute *attribute, const Dwarf_Op *operator) {
    uint8_t reg;
    uint32_t entry = (uint32_t)machine->body->entry;
    machine->place->entry = entry;
    return entry && entry_register(machine->body, attribute, operator, &reg) &&
           emit_operator(machine->place, DW_OP_entry_value) && emit_bytes(machine->place, &reg, 1) &&
           emit_bytes(machine->place, &entry, sizeof entry) && push(machine, (struct word){0});
}

static bool push_address(struct machine *machine, Dwarf_Attribute *attribute, const Dwarf_Op *operator) {
    uint64_t address;
    return operator_address(attribute, operator, &address) && emit_operator(machine->place, DW_OP_addr) &&
           emit_bytes(machine->place, &address, sizeof address) && push(machine, (struct word){0});
}

static bool typed(struct machine *machine, Dwarf_Attribute *attribute, const Dwarf_Op *operator) {
    struct word word;
    switch (operator->atom) {
    case DW_OP_GNU_convert:
    case DW_OP_convert:
    case DW_OP_GNU_reinterpret:
    case DW_OP_reinterpret:
        return word_type(attribute, operator, operator->number, &word) && convert(machine, word);
    case DW_OP_GNU_regval_type:
    case DW_OP_regval_type:
        return word_type(attribute, operator, operator->number2, &word) &&
               push_register(machine, (unsigned)operator->number, 0) && convert(machine, word);
    default: // deref_type
        return word_type(attribute, operator, operator->number2, &word) && dereference(machine, operator->number, word);
    }
}

static bool rewrite(struct machine *machine, Dwarf_Attribute *attribute, const Dwarf_Op *operator) {
    uint8_t atom = operator->atom;
    if (operator_is_literal(atom))
        return push_constant(machine, atom - DW_OP_lit0);
    if (operator_is_constant(atom))
        return push_constant(machine, (int64_t)operator->number);
    if (operator_is_register(atom))
        return push_register(machine, atom - DW_OP_breg0, (int64_t)operator->number);
    if (operator_is_binary(atom))
        return binary(machine, atom);
    switch (atom) {
    case DW_OP_addr:
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        return push_address(machine, attribute, operator);
    case DW_OP_bregx:
        return push_register(machine, (unsigned)operator->number, (int64_t)operator->number2);
    case DW_OP_fbreg:
        return push_frame(machine, (int64_t)operator->number);
    case DW_OP_call_frame_cfa:
        return emit_operator(machine->place, atom) && push(machine, (struct word){0});
    case DW_OP_deref:
        return dereference(machine, 8, (struct word){0});
    case DW_OP_deref_size:
        return dereference(machine, operator->number, (struct word){0});
    case DW_OP_dup:
    case DW_OP_drop:
    case DW_OP_over:
    case DW_OP_pick:
    case DW_OP_swap:
    case DW_OP_rot:
        return shuffle(machine, operator);
    case DW_OP_abs:
    case DW_OP_neg:
    case DW_OP_not:
        return unary(machine, atom);
    case DW_OP_plus_uconst:
        return top(machine) && emit_unsigned(machine->place, atom, operator->number) && extend(machine);
    case DW_OP_GNU_entry_value:
    case DW_OP_entry_value:
        return push_entry(machine, attribute, operator);
    case DW_OP_GNU_convert:
    case DW_OP_convert:
    case DW_OP_GNU_reinterpret:
    case DW_OP_reinterpret:
    case DW_OP_GNU_regval_type:
    case DW_OP_regval_type:
    case DW_OP_GNU_deref_type:
    case DW_OP_deref_type:
        return typed(machine, attribute, operator);
    case DW_OP_nop:
        return true;
    default: // jumps, calls, pieces and whatever is new
        return false;
    }
}

bool rewrite_expression(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operators, size_t count,
                        struct place *place) {
    struct machine machine = {.body = body, .place = place};
    for (size_t i = 0; i < count; i++) {
        if (operators[i].atom == DW_OP_stack_value) {
            place->is_value = true;
            if (i + 1 != count)
                return false;
        } else if (!rewrite(&machine, attribute, &operators[i])) {
            return false;
        }
    }
    place->kind = VALUES_EXPRESSION;
    return machine.depth > 0 && (place->is_value || !top(&machine)->bytes);
}
