// Single operators: reading DWARF's operands, writing those of the table's expressions.
#include "debuginfo/variables.h"

#include <dwarf.h>
#include <string.h>

bool emit_bytes(struct place *place, const void *bytes, size_t count) {
    if (count > sizeof place->code - place->code_bytes)
        return false;
    memcpy(place->code + place->code_bytes, bytes, count);
    place->code_bytes += count;
    return true;
}

bool emit_operator(struct place *place, uint8_t operator) {
    return emit_bytes(place, &operator, 1);
}

bool emit_unsigned(struct place *place, uint8_t operator, uint64_t operand) {
    uint8_t bytes[12] = {operator};
    size_t count = 1;
    do {
        bytes[count++] = (uint8_t)((operand & 0x7f) | (operand > 0x7f ? 0x80 : 0));
        operand >>= 7;
    } while (operand);
    return emit_bytes(place, bytes, count);
}

bool emit_signed(struct place *place, uint8_t operator, int64_t operand) {
    uint8_t bytes[12] = {operator};
    size_t count = 1;
    for (bool more = true; more;) {
        uint8_t low = operand & 0x7f;
        operand >>= 7;
        more = !((operand == 0 && !(low & 0x40)) || (operand == -1 && (low & 0x40)));
        bytes[count++] = low | (more ? 0x80 : 0);
    }
    return emit_bytes(place, bytes, count);
}

bool register_is_dying(const struct body *body, unsigned reg) {
    return reg >= body->machine->registers || !(body->machine->kept >> reg & 1);
}

// The register of `entry_value(register)`.
bool entry_register(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operator, uint8_t *reg) {
    Dwarf_Attribute block;
    Dwarf_Op *inner;
    size_t count;
    if (dwarf_getlocation_attr(attribute, operator, &block) || dwarf_getlocation(&block, &inner, &count) ||
        count != 1 || inner->atom < DW_OP_reg0 || inner->atom - DW_OP_reg0 >= body->machine->registers)
        return false;
    *reg = (uint8_t)(inner->atom - DW_OP_reg0);
    return true;
}

bool operator_address(Dwarf_Attribute *attribute, const Dwarf_Op *operator, uint64_t *address) {
    Dwarf_Attribute indexed;
    *address = operator->number;
    return operator->atom == DW_OP_addr ||
           (!dwarf_getlocation_attr(attribute, operator, &indexed) && !dwarf_formaddr(&indexed, address));
}
