// SPDX-License-Identifier: GPL-2.0-or-later
#include "parts.h"

#define OFFSET(field) ((Int)offsetof(VexGuestAMD64State, field))

Place place_of(Int offset, IRType type) {
    Int size = type == Ity_I1 ? 1 : sizeofIRType(type);
    if (offset >= OFFSET(guest_RAX) && offset < OFFSET(guest_R15) + 8) {
        Int within = (offset - OFFSET(guest_RAX)) % 8;
        UInt first = PART_GENERAL + 3 * (UInt)((offset - OFFSET(guest_RAX)) / 8);
        // The stack pointer changes with every push and call: it says where, never what.
        if ((offset & ~7) == OFFSET(guest_RSP))
            return (Place){0};
        if (within == 1 && size == 1)
            return (Place){first + 1, 1, LAYOUT_BYTES};
        return (Place){first, size == 1 ? 1 : size == 2 ? 2 : 3, LAYOUT_BYTES};
    }
    if (offset >= OFFSET(guest_YMM0) && offset < OFFSET(guest_YMM16) + 32) {
        UInt dword = (UInt)(offset - OFFSET(guest_YMM0)) / 4;
        return (Place){PART_VECTOR + dword, size < 4 ? 1 : (UInt)size / 4, LAYOUT_DWORDS};
    }
    if (offset >= OFFSET(guest_FPREG) && offset < OFFSET(guest_FPREG) + 64)
        return (Place){PART_X87, 1, LAYOUT_WHOLE};
    return (Place){0};
}

void symbols_start(Symbols *symbols) {
    VG_(memset)(symbols->registers, 0, sizeof symbols->registers);
    for (UInt part = 0; part < PARTS; part++)
        parts_add_one(&symbols->registers[part], part);
}

Value symbols_register(const Symbols *symbols, Int offset, IRType type) {
    Place place = place_of(offset, type);
    Value value = {.layout = place.layout};
    for (UInt i = 0; i < place.count; i++)
        value.lane[i] = symbols->registers[place.first + i];
    return value;
}

static Value whole(const Value *a, const Value *b) {
    Value value = {.layout = LAYOUT_WHOLE};
    value.lane[0] = value_parts(a);
    if (b) {
        Parts more = value_parts(b);
        parts_add(&value.lane[0], &more);
    }
    parts_add_one(&value.lane[0], PART_COMPUTED);
    return value;
}

// Lanes [from, from + count) of a vector, as lanes [0, count) of the result.
static Value slice(const Value *vector, UInt from, UInt count) {
    Value value = {.layout = LAYOUT_DWORDS};
    for (UInt i = 0; i < count; i++)
        value.lane[i] = value_lane(vector, LAYOUT_DWORDS, from + i);
    return value;
}

static Value joined(const Value *high, const Value *low, UInt half) {
    Value value = slice(low, 0, half);
    for (UInt i = 0; i < half; i++)
        value.lane[half + i] = value_lane(high, LAYOUT_DWORDS, i);
    return value;
}

// Bytes of an integer that remain when it is narrowed to one or two bytes.
static Value narrowed(const Value *integer, UInt bytes) {
    if (integer->layout == LAYOUT_DWORDS)
        return slice(integer, 0, 1);
    if (integer->layout == LAYOUT_WHOLE)
        return *integer;
    Value value = *integer;
    for (UInt i = bytes; i < 8; i++)
        value.lane[i] = (Parts){{0}};
    return value;
}

static Value lowest_lanes_only(const Value *a, const Value *b, UInt lanes) {
    Value low_a = slice(a, 0, lanes), low_b = {0};
    if (b)
        low_b = slice(b, 0, lanes);
    Value computed = whole(&low_a, b ? &low_b : NULL), value = slice(a, 0, 4);
    for (UInt i = 0; i < lanes; i++)
        value.lane[i] = computed.lane[0];
    return value;
}

static Value value_of_unop(IROp op, const Value *a) {
    switch (op) {
    case Iop_64to32:
        return a->layout == LAYOUT_DWORDS ? slice(a, 0, 1) : *a;
    case Iop_64to16:
    case Iop_32to16:
        return narrowed(a, 2);
    case Iop_64to8:
    case Iop_32to8:
    case Iop_16to8:
        return narrowed(a, 1);
    case Iop_8Uto16:
    case Iop_8Uto32:
    case Iop_8Uto64:
    case Iop_16Uto32:
    case Iop_16Uto64:
    case Iop_32Uto64:
    case Iop_ReinterpF64asI64:
    case Iop_ReinterpI64asF64:
    case Iop_ReinterpF32asI32:
    case Iop_ReinterpI32asF32:
        return *a;
    case Iop_NotV128:
    case Iop_NotV256: {
        Value value = slice(a, 0, 8);
        for (UInt i = 0; i < 8; i++)
            parts_add_one(&value.lane[i], PART_COMPUTED);
        return value;
    }
    case Iop_64HIto32:
        return a->layout == LAYOUT_DWORDS ? slice(a, 1, 1) : whole(a, NULL);
    case Iop_V128to64:
    case Iop_64UtoV128:
    case Iop_ZeroHI64ofV128:
        return slice(a, 0, 2);
    case Iop_V128HIto64:
        return slice(a, 2, 2);
    case Iop_V128to32:
    case Iop_32UtoV128:
    case Iop_ZeroHI96ofV128:
        return slice(a, 0, 1);
    case Iop_V256to64_0:
    case Iop_V256to64_1:
    case Iop_V256to64_2:
    case Iop_V256to64_3:
        return slice(a, 2 * (UInt)(op - Iop_V256to64_0), 2);
    case Iop_V256toV128_0:
        return slice(a, 0, 4);
    case Iop_V256toV128_1:
        return slice(a, 4, 4);
    case Iop_Sqrt64F0x2:
        return lowest_lanes_only(a, NULL, 2);
    case Iop_Sqrt32F0x4:
    case Iop_RecipEst32F0x4:
    case Iop_RSqrtEst32F0x4:
        return lowest_lanes_only(a, NULL, 1);
    default:
        return whole(a, NULL);
    }
}

static Value interleaved(const Value *a, const Value *b, UInt from, UInt unit) {
    Value value = {.layout = LAYOUT_DWORDS};
    for (UInt i = 0; i < 4; i++) {
        // b gives the even units, a the odd ones.
        const Value *source = (i / unit) % 2 ? a : b;
        value.lane[i] = value_lane(source, LAYOUT_DWORDS, from + (unit == 2 ? i % 2 : i / 2));
    }
    return value;
}

static Bool is_nothing(const Parts *parts) {
    return !(parts->bits[0] | parts->bits[1] | parts->bits[2] | parts->bits[3]);
}

static Value lane_by_lane(const Value *a, const Value *b) {
    Value value = slice(a, 0, 8);
    for (UInt i = 0; i < 8; i++) {
        Parts more = value_lane(b, LAYOUT_DWORDS, i);
        // With a constant, that is with 0 once masks were looked at, or leaves the other as it was.
        if (!is_nothing(&more) && !is_nothing(&value.lane[i]))
            parts_add_one(&value.lane[i], PART_COMPUTED);
        parts_add(&value.lane[i], &more);
    }
    return value;
}

// Lanes that a constant mask clears depend on nothing: this is how blends are written.
static void apply_mask(Value *value, const IRExpr *mask) {
    if (mask->tag != Iex_Const || mask->Iex.Const.con->tag != Ico_V128)
        return;
    for (UInt i = 0; i < 4; i++) {
        UInt bytes = (mask->Iex.Const.con->Ico.V128 >> (4 * i)) & 15;
        if (bytes == 0)
            value->lane[i] = (Parts){{0}};
        else if (bytes != 15)
            parts_add_one(&value->lane[i], PART_COMPUTED);
    }
}

static Bool is_unchanged(const Value *value) {
    Bool any = False;
    for (UInt i = 0; i < 8; i++) {
        UInt ones = 0;
        for (UInt word = 0; word < PARTS / 64; word++)
            ones += (UInt)__builtin_popcountll(value->lane[i].bits[word]);
        if (ones > 1)
            return False;
        any |= ones == 1;
    }
    return any && value->layout != LAYOUT_WHOLE;
}

// xor, sub and equality of a register with itself do not depend on it: the ways to write 0 and -1.
static Bool is_idiom(IROp op, const Value *a, const Value *b) {
    switch (op) {
    case Iop_Xor8:
    case Iop_Xor16:
    case Iop_Xor32:
    case Iop_Xor64:
    case Iop_Sub8:
    case Iop_Sub16:
    case Iop_Sub32:
    case Iop_Sub64:
    case Iop_XorV128:
    case Iop_XorV256:
    case Iop_CmpEQ8x16:
    case Iop_CmpEQ16x8:
    case Iop_CmpEQ32x4:
    case Iop_CmpEQ64x2:
    case Iop_CmpEQ8x32:
    case Iop_CmpEQ16x16:
    case Iop_CmpEQ32x8:
    case Iop_CmpEQ64x4:
        return is_unchanged(a) && VG_(memcmp)(a, b, sizeof *a) == 0;
    default:
        return False;
    }
}

static Value value_of_binop(const Symbols *symbols, const IRExpr *expression) {
    const IRExpr *left = expression->Iex.Binop.arg1, *right = expression->Iex.Binop.arg2;
    Value a = symbols_value(symbols, left), b = symbols_value(symbols, right), value;
    if (is_idiom(expression->Iex.Binop.op, &a, &b))
        return (Value){.layout = LAYOUT_WHOLE};
    switch (expression->Iex.Binop.op) {
    case Iop_32HLto64:
        return joined(&a, &b, 1);
    case Iop_64HLtoV128:
        return joined(&a, &b, 2);
    case Iop_V128HLtoV256:
        return joined(&a, &b, 4);
    case Iop_SetV128lo64:
    case Iop_SetV128lo32: {
        UInt lanes = expression->Iex.Binop.op == Iop_SetV128lo64 ? 2 : 1;
        value = slice(&a, 0, 4);
        for (UInt i = 0; i < lanes; i++)
            value.lane[i] = value_lane(&b, LAYOUT_DWORDS, i);
        return value;
    }
    case Iop_InterleaveLO64x2:
        return interleaved(&a, &b, 0, 2);
    case Iop_InterleaveHI64x2:
        return interleaved(&a, &b, 2, 2);
    case Iop_InterleaveLO32x4:
        return interleaved(&a, &b, 0, 1);
    case Iop_InterleaveHI32x4:
        return interleaved(&a, &b, 2, 1);
    case Iop_AndV128:
        value = lane_by_lane(&a, &b);
        apply_mask(&value, left);
        apply_mask(&value, right);
        return value;
    case Iop_OrV128:
    case Iop_OrV256:
    case Iop_XorV128:
    case Iop_XorV256:
    case Iop_AndV256:
        return lane_by_lane(&a, &b);
    case Iop_Add64F0x2:
    case Iop_Sub64F0x2:
    case Iop_Mul64F0x2:
    case Iop_Div64F0x2:
    case Iop_Max64F0x2:
    case Iop_Min64F0x2:
    case Iop_CmpEQ64F0x2:
    case Iop_CmpLT64F0x2:
    case Iop_CmpLE64F0x2:
    case Iop_CmpUN64F0x2:
        return lowest_lanes_only(&a, &b, 2);
    case Iop_Add32F0x4:
    case Iop_Sub32F0x4:
    case Iop_Mul32F0x4:
    case Iop_Div32F0x4:
    case Iop_Max32F0x4:
    case Iop_Min32F0x4:
    case Iop_CmpEQ32F0x4:
    case Iop_CmpLT32F0x4:
    case Iop_CmpLE32F0x4:
    case Iop_CmpUN32F0x4:
        return lowest_lanes_only(&a, &b, 1);
    default:
        return whole(&a, &b);
    }
}

static Value value_of_all(const Symbols *symbols, IRExpr **expressions) {
    Value value = {.layout = LAYOUT_WHOLE};
    for (UInt i = 0; expressions[i]; i++) {
        Value one = symbols_value(symbols, expressions[i]);
        value = whole(&value, &one);
    }
    return value;
}

static Value value_of_call(const Symbols *symbols, const IRExpr *expression) {
    // What is computed from the flags' thunk: the opcode tells which flags are read.
    static const HChar flags_helper[] = "amd64g_calculate_";
    if (VG_(strncmp)(expression->Iex.CCall.cee->name, flags_helper, sizeof flags_helper - 1) == 0) {
        const HChar *rest = expression->Iex.CCall.cee->name + sizeof flags_helper - 1;
        if (rest[0] == 'c' || (rest[0] == 'r' && rest[1] == 'f'))
            return (Value){.layout = LAYOUT_WHOLE};
    }
    return value_of_all(symbols, expression->Iex.CCall.args);
}

Value symbols_value(const Symbols *symbols, const IRExpr *expression) {
    Value a;
    switch (expression->tag) {
    case Iex_RdTmp:
        return symbols->temporaries[expression->Iex.RdTmp.tmp % symbols->temporaries_most];
    case Iex_Get:
        return symbols_register(symbols, expression->Iex.Get.offset, expression->Iex.Get.ty);
    case Iex_GetI:
        return symbols_register(symbols, expression->Iex.GetI.descr->base, expression->Iex.GetI.descr->elemTy);
    case Iex_Unop:
        a = symbols_value(symbols, expression->Iex.Unop.arg);
        return value_of_unop(expression->Iex.Unop.op, &a);
    case Iex_Binop:
        return value_of_binop(symbols, expression);
    case Iex_Triop: {
        const IRTriop *op = expression->Iex.Triop.details;
        return value_of_all(symbols, (IRExpr *[]){op->arg1, op->arg2, op->arg3, NULL});
    }
    case Iex_Qop: {
        const IRQop *op = expression->Iex.Qop.details;
        if (op->op == Iop_64x4toV256) {
            Value quarters[] = {symbols_value(symbols, op->arg4), symbols_value(symbols, op->arg3),
                                symbols_value(symbols, op->arg2), symbols_value(symbols, op->arg1)};
            a = joined(&quarters[1], &quarters[0], 2);
            Value high = joined(&quarters[3], &quarters[2], 2);
            return joined(&high, &a, 4);
        }
        return value_of_all(symbols, (IRExpr *[]){op->arg1, op->arg2, op->arg3, op->arg4, NULL});
    }
    case Iex_ITE:
        return value_of_all(symbols, (IRExpr *[]){expression->Iex.ITE.cond, expression->Iex.ITE.iftrue,
                                                  expression->Iex.ITE.iffalse, NULL});
    case Iex_CCall:
        return value_of_call(symbols, expression);
    case Iex_Load:
        // What comes from memory is followed in memory.
        a = (Value){.layout = LAYOUT_WHOLE};
        return whole(&a, NULL);
    default:
        return (Value){.layout = LAYOUT_WHOLE};
    }
}
