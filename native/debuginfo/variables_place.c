// Where a variable is, and where within it each of its scalars is.
#include "debuginfo/variables.h"

#include <dwarf.h>
#include <string.h>

void read_body(struct body *body, const struct code_machine *machine, Dwarf_Die *function, uint64_t entry) {
    *body = (struct body){.machine = machine, .entry = entry <= UINT32_MAX ? entry : 0};
    Dwarf_Attribute attribute;
    Dwarf_Op *operators;
    size_t count;
    if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) ||
        dwarf_getlocation(&attribute, &operators, &count) || count != 1)
        return;
    uint8_t atom = operators->atom;
    if (atom == DW_OP_call_frame_cfa) {
        body->frame = FRAME_CFA;
    } else if (atom >= DW_OP_reg0 && atom < DW_OP_reg0 + machine->registers) {
        body->frame = FRAME_REGISTER;
        body->frame_register = (uint8_t)(atom - DW_OP_reg0);
    } else if (atom >= DW_OP_breg0 && atom < DW_OP_breg0 + machine->registers) {
        body->frame = FRAME_REGISTER;
        body->frame_register = (uint8_t)(atom - DW_OP_breg0);
        body->frame_offset = (int64_t)operators->number;
    }
}

static bool is_constant(uint8_t atom) {
    return (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) || (atom >= DW_OP_const1u && atom <= DW_OP_consts);
}

static uint64_t constant(const Dwarf_Op *operator) {
    bool is_literal = operator->atom >= DW_OP_lit0 && operator->atom <= DW_OP_lit31;
    return is_literal ? (uint64_t)(operator->atom - DW_OP_lit0) : operator->number;
}

// A register and a distance: breg, bregx, and fbreg by way of the frame base.
static bool base_and_offset(const struct body *body, const Dwarf_Op *operator, bool *is_cfa, uint8_t *reg,
                            int64_t *offset) {
    uint8_t atom = operator->atom;
    *is_cfa = false;
    *offset = (int64_t)operator->number;
    if (atom >= DW_OP_breg0 && atom < DW_OP_breg0 + body->machine->registers) {
        *reg = (uint8_t)(atom - DW_OP_breg0);
    } else if (atom == DW_OP_bregx && operator->number < body->machine->registers) {
        *reg = (uint8_t)operator->number;
        *offset = (int64_t)operator->number2;
    } else if (atom == DW_OP_call_frame_cfa) {
        *is_cfa = true;
        *offset = 0;
    } else if (atom == DW_OP_fbreg && body->frame == FRAME_CFA) {
        *is_cfa = true;
    } else if (atom == DW_OP_fbreg && body->frame == FRAME_REGISTER) {
        *reg = body->frame_register;
        *offset += body->frame_offset;
    } else {
        return false;
    }
    return *offset >= INT32_MIN && *offset <= INT32_MAX;
}

// One operator, perhaps followed by stack_value: most locations are of this kind.
static bool read_simple(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operator, bool is_value,
                        struct place *place) {
    uint8_t atom = operator->atom;
    bool is_cfa;
    uint8_t reg = 0;
    int64_t offset;
    if (base_and_offset(body, operator, &is_cfa, &reg, &offset)) {
        place->reg = reg;
        place->offset = offset;
        place->kind = is_cfa     ? (is_value ? VALUES_CFA_PLUS : VALUES_AT_CFA)
                      : is_value ? VALUES_REGISTER_PLUS
                                 : VALUES_AT_REGISTER;
        place->uses_dying = !is_cfa && register_is_dying(body, place->reg);
        if (place->kind == VALUES_REGISTER_PLUS && !place->offset)
            place->kind = VALUES_REGISTER;
        return true;
    }
    if (atom == DW_OP_addr || atom == DW_OP_addrx || atom == DW_OP_GNU_addr_index) {
        place->kind = is_value ? VALUES_ADDRESS : VALUES_AT_ADDRESS;
        return operator_address(attribute, operator, &place->address);
    }
    if (is_value && is_constant(atom)) {
        place->kind = VALUES_CONSTANT;
        place->address = constant(operator);
        return true;
    }
    if (is_value && (atom == DW_OP_entry_value || atom == DW_OP_GNU_entry_value)) {
        place->kind = VALUES_ENTRY;
        place->address = body->entry;
        place->entry = (uint32_t)body->entry;
        return body->entry && entry_register(body, attribute, operator, &place->reg);
    }
    return false;
}

// What only means something as a whole location: registers and the bytes themselves.
static bool read_held(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operator,
                      struct place *place) {
    const struct code_machine *machine = body->machine;
    uint8_t atom = operator->atom;
    uint64_t reg = atom >= DW_OP_reg0 && atom <= DW_OP_reg31 ? (uint64_t)(atom - DW_OP_reg0)
                   : atom == DW_OP_regx                      ? operator->number
                                                             : UINT64_MAX;
    if (reg < machine->registers) {
        place->kind = VALUES_REGISTER;
        place->reg = (uint8_t)reg;
        return true;
    }
    if (reg >= machine->first_vector && reg - machine->first_vector < machine->vectors) {
        place->kind = VALUES_VECTOR;
        place->reg = (uint8_t)(reg - machine->first_vector);
        return true;
    }
    Dwarf_Attribute held;
    Dwarf_Block block;
    if (atom == DW_OP_implicit_value && !dwarf_getlocation_attr(attribute, operator, &held) &&
        !dwarf_formblock(&held, &block)) {
        place->kind = VALUES_CONSTANT;
        place->block = block.data;
        place->block_bytes = block.length;
        return true;
    }
    return false;
}

static bool read_place(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operators, size_t count,
                       struct place *place) {
    *place = (struct place){0};
    if (!count)
        return false;
    bool is_value = operators[count - 1].atom == DW_OP_stack_value;
    if (count == 1 && read_held(body, attribute, operators, place))
        return true;
    if (count == 1u + is_value && read_simple(body, attribute, operators, is_value, place))
        return true;
    uint8_t last = operators[count - 1].atom;
    if (count == 2 && (last == DW_OP_form_tls_address || last == DW_OP_GNU_push_tls_address) &&
        is_constant(operators->atom)) {
        place->kind = VALUES_AT_TLS;
        place->offset = (int64_t)constant(operators);
        return place->offset <= INT32_MAX;
    }
    *place = (struct place){0};
    return rewrite_expression(body, attribute, operators, count, place);
}

bool read_value(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operators, size_t count,
                struct place *place) {
    *place = (struct place){0};
    if (count == 1 && read_simple(body, attribute, operators, true, place))
        return true;
    *place = (struct place){.is_value = true};
    return rewrite_expression(body, attribute, operators, count, place);
}

void read_pieces(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operators, size_t count,
                 uint64_t bytes, struct pieces *pieces) {
    pieces->count = 0;
    size_t start = 0;
    uint64_t offset = 0;
    for (size_t i = 0; i <= count && pieces->count < PIECES_MAX; i++) {
        if (i < count && operators[i].atom == DW_OP_bit_piece)
            return;
        if (i < count && operators[i].atom != DW_OP_piece)
            continue;
        if (i == count && start)
            return;
        struct piece *piece = &pieces->pieces[pieces->count++];
        piece->offset = offset;
        piece->bytes = i < count ? operators[i].number : bytes;
        piece->known = read_place(body, attribute, operators + start, i - start, &piece->place);
        offset += piece->bytes;
        start = i + 1;
    }
}

bool finish_location(struct variables *variables, const struct place *place, struct values_location *location) {
    location->kind = place->kind;
    location->reg = place->reg;
    location->address = place->address;
    location->offset = (int32_t)place->offset;
    location->padding = place->entry; // cleared when entries have been judged
    if (place->kind == VALUES_EXPRESSION) {
        int32_t number = texts_intern(&variables->expressions, (const char *)place->code, place->code_bytes);
        location->offset = (int32_t)COLUMN_AT(&variables->expressions.offsets, uint64_t, number);
        location->address = place->code_bytes;
        location->flags |= place->is_value ? VALUES_FLAG_STACK_VALUE : 0;
    }
    return place->offset >= INT32_MIN && place->offset <= INT32_MAX;
}

// Turns the place into an expression that leaves its address (or, for values, its value) on the stack.
static bool as_expression(const struct place *place, int64_t offset, struct place *out) {
    uint64_t address = place->address + (uint64_t)offset;
    switch (place->kind) {
    case VALUES_AT_CFA:
    case VALUES_CFA_PLUS:
        return emit_operator(out, DW_OP_call_frame_cfa) && emit_signed(out, DW_OP_consts, place->offset + offset) &&
               emit_operator(out, DW_OP_plus);
    case VALUES_REGISTER:
    case VALUES_AT_REGISTER:
    case VALUES_REGISTER_PLUS:
        return emit_signed(out, (uint8_t)(DW_OP_breg0 + place->reg), place->offset + offset);
    case VALUES_AT_ADDRESS:
    case VALUES_ADDRESS:
        return emit_operator(out, DW_OP_addr) && emit_bytes(out, &address, sizeof address);
    case VALUES_ENTRY:
        return !offset && emit_operator(out, DW_OP_entry_value) && emit_bytes(out, &place->reg, 1) &&
               emit_bytes(out, &place->entry, sizeof place->entry);
    case VALUES_EXPRESSION:
        return emit_bytes(out, place->code, place->code_bytes) &&
               (!offset || (emit_signed(out, DW_OP_consts, offset) && emit_operator(out, DW_OP_plus)));
    default:
        return false;
    }
}

static bool is_memory(const struct place *place) {
    return place->kind == VALUES_AT_CFA || place->kind == VALUES_AT_REGISTER || place->kind == VALUES_AT_ADDRESS ||
           place->kind == VALUES_AT_TLS || (place->kind == VALUES_EXPRESSION && !place->is_value);
}

static struct place computed(const struct place *from) {
    return (struct place){.kind = VALUES_EXPRESSION, .is_value = true, .entry = from->entry};
}

// Bytes at an offset within something that is held in a register or computed.
static bool shifted(const struct place *place, uint64_t offset, struct place *out) {
    *out = computed(place);
    return as_expression(place, 0, out) && emit_unsigned(out, DW_OP_constu, 8 * offset) &&
           emit_operator(out, DW_OP_shr);
}

static bool span(const struct place *place, int64_t offset, uint32_t scale, struct place *out) {
    *out = computed(place);
    return is_memory(place) && as_expression(place, offset + 8, out) && emit_operator(out, DW_OP_deref) &&
           as_expression(place, offset, out) && emit_operator(out, DW_OP_deref) && emit_operator(out, DW_OP_minus) &&
           emit_unsigned(out, DW_OP_constu, scale) && emit_operator(out, DW_OP_div);
}

static bool constant_bytes(const struct place *place, uint64_t offset, uint64_t bytes, struct place *out) {
    *out = *place;
    out->block = NULL;
    if (!place->block) {
        out->address = offset < 8 ? place->address >> (8 * offset) : 0;
        return offset + bytes <= 8;
    }
    out->address = 0;
    if (bytes > place->block_bytes || offset > place->block_bytes - bytes)
        return false;
    memcpy(&out->address, place->block + offset, bytes);
    return true;
}

static bool within(const struct place *place, uint64_t offset, const struct leaf *leaf, struct place *out) {
    if (leaf->flags & VALUES_FLAG_SPAN)
        return span(place, (int64_t)offset, leaf->scale, out);
    *out = *place;
    if (place->kind == VALUES_CONSTANT)
        return constant_bytes(place, offset, leaf->size, out);
    if (is_memory(place)) {
        if (place->kind == VALUES_EXPRESSION && offset)
            return emit_unsigned(out, DW_OP_plus_uconst, offset);
        if (place->kind == VALUES_AT_ADDRESS)
            out->address += offset;
        else
            out->offset += (int64_t)offset;
        return true;
    }
    return !offset || (place->kind != VALUES_VECTOR && offset + leaf->size <= 8 && shifted(place, offset, out));
}

bool locate_leaf(struct variables *variables, const struct pieces *pieces, const struct leaf *leaf,
                 struct values_location *location) {
    uint64_t start = (uint64_t)leaf->offset, end = start + (leaf->flags & VALUES_FLAG_SPAN ? 16 : leaf->size);
    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->pieces[i];
        struct place place;
        if (!piece->known || start < piece->offset || end > piece->offset + piece->bytes)
            continue;
        location->size = leaf->size;
        location->flags = leaf->flags & ~VALUES_FLAG_SPAN;
        return within(&piece->place, start - piece->offset, leaf, &place) &&
               finish_location(variables, &place, location);
    }
    return false;
}
