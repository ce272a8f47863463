// SPDX-License-Identifier: GPL-2.0-or-later
#include "lanes.h"

Value lanes_computed(const Value *a, const Value *b) {
    Value value = {.layout = LAYOUT_WHOLE};
    value.lane[0] = value_parts(a);
    if (b) {
        Parts more = value_parts(b);
        parts_add(&value.lane[0], &more);
    }
    parts_add_one(&value.lane[0], PART_COMPUTED);
    return value;
}

Value lanes_slice(const Value *vector, UInt from, UInt count) {
    Value value = {.layout = LAYOUT_DWORDS};
    for (UInt i = 0; i < count; i++)
        value.lane[i] = value_lane(vector, LAYOUT_DWORDS, from + i);
    return value;
}

Value lanes_joined(const Value *high, const Value *low, UInt half) {
    Value value = lanes_slice(low, 0, half);
    for (UInt i = 0; i < half; i++)
        value.lane[half + i] = value_lane(high, LAYOUT_DWORDS, i);
    return value;
}

Value lanes_narrowed(const Value *integer, UInt bytes) {
    if (integer->layout == LAYOUT_DWORDS)
        return lanes_slice(integer, 0, 1);
    if (integer->layout == LAYOUT_WHOLE)
        return *integer;
    Value value = *integer;
    for (UInt i = bytes; i < 8; i++)
        value.lane[i] = (Parts){{0}};
    return value;
}

Value lanes_of_scalar(const Value *a, const Value *b, UInt lanes) {
    Value low_a = lanes_slice(a, 0, lanes), low_b = {0};
    if (b)
        low_b = lanes_slice(b, 0, lanes);
    Value computed = lanes_computed(&low_a, b ? &low_b : NULL), value = lanes_slice(a, 0, 4);
    for (UInt i = 0; i < lanes; i++)
        value.lane[i] = computed.lane[0];
    return value;
}

Value lanes_interleaved(const Value *a, const Value *b, UInt from, UInt unit) {
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

Value lanes_each(const Value *a, const Value *b) {
    Value value = lanes_slice(a, 0, 8);
    for (UInt i = 0; i < 8; i++) {
        Parts more = value_lane(b, LAYOUT_DWORDS, i);
        // With a constant, that is with 0 once masks were looked at, or leaves the other as it was.
        if (!is_nothing(&more) && !is_nothing(&value.lane[i]))
            parts_add_one(&value.lane[i], PART_COMPUTED);
        parts_add(&value.lane[i], &more);
    }
    return value;
}

void lanes_masked(Value *value, const IRExpr *mask) {
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

Bool lanes_idiom(IROp op, const Value *a, const Value *b) {
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
