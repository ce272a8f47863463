// SPDX-License-Identifier: GPL-2.0-or-later
#include "parts.h"

#include "guest.h"
#include "lanes.h"
#include "registers.h"

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

static Value value_of_unop(IROp op, const Value *a) {
    switch (op) {
    case Iop_64to32:
        return a->layout == LAYOUT_DWORDS ? lanes_slice(a, 0, 1) : *a;
    case Iop_64to16:
    case Iop_32to16:
        return lanes_narrowed(a, 2);
    case Iop_64to8:
    case Iop_32to8:
    case Iop_16to8:
        return lanes_narrowed(a, 1);
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
        Value value = lanes_slice(a, 0, 8);
        for (UInt i = 0; i < 8; i++)
            parts_add_one(&value.lane[i], PART_COMPUTED);
        return value;
    }
    case Iop_64HIto32:
        return a->layout == LAYOUT_DWORDS ? lanes_slice(a, 1, 1) : lanes_computed(a, NULL);
    case Iop_V128to64:
    case Iop_64UtoV128:
    case Iop_ZeroHI64ofV128:
        return lanes_slice(a, 0, 2);
    case Iop_V128HIto64:
        return lanes_slice(a, 2, 2);
    case Iop_V128to32:
    case Iop_32UtoV128:
    case Iop_ZeroHI96ofV128:
        return lanes_slice(a, 0, 1);
    case Iop_V256to64_0:
    case Iop_V256to64_1:
    case Iop_V256to64_2:
    case Iop_V256to64_3:
        return lanes_slice(a, 2 * (UInt)(op - Iop_V256to64_0), 2);
    case Iop_V256toV128_0:
        return lanes_slice(a, 0, 4);
    case Iop_V256toV128_1:
        return lanes_slice(a, 4, 4);
    case Iop_Sqrt64F0x2:
        return lanes_of_scalar(a, NULL, 2);
    case Iop_Sqrt32F0x4:
    case Iop_RecipEst32F0x4:
    case Iop_RSqrtEst32F0x4:
        return lanes_of_scalar(a, NULL, 1);
    default:
        return lanes_computed(a, NULL);
    }
}

static Value value_of_binop(const Symbols *symbols, const IRExpr *expression) {
    const IRExpr *left = expression->Iex.Binop.arg1, *right = expression->Iex.Binop.arg2;
    Value a = symbols_value(symbols, left), b = symbols_value(symbols, right), value;
    if (lanes_idiom(expression->Iex.Binop.op, &a, &b))
        return (Value){.layout = LAYOUT_WHOLE};
    switch (expression->Iex.Binop.op) {
    case Iop_32HLto64:
        return lanes_joined(&a, &b, 1);
    case Iop_64HLtoV128:
        return lanes_joined(&a, &b, 2);
    case Iop_V128HLtoV256:
        return lanes_joined(&a, &b, 4);
    case Iop_SetV128lo64:
    case Iop_SetV128lo32: {
        UInt lanes = expression->Iex.Binop.op == Iop_SetV128lo64 ? 2 : 1;
        value = lanes_slice(&a, 0, 4);
        for (UInt i = 0; i < lanes; i++)
            value.lane[i] = value_lane(&b, LAYOUT_DWORDS, i);
        return value;
    }
    case Iop_InterleaveLO64x2:
        return lanes_interleaved(&a, &b, 0, 2);
    case Iop_InterleaveHI64x2:
        return lanes_interleaved(&a, &b, 2, 2);
    case Iop_InterleaveLO32x4:
        return lanes_interleaved(&a, &b, 0, 1);
    case Iop_InterleaveHI32x4:
        return lanes_interleaved(&a, &b, 2, 1);
    case Iop_AndV128:
        value = lanes_each(&a, &b);
        lanes_masked(&value, left);
        lanes_masked(&value, right);
        return value;
    case Iop_OrV128:
    case Iop_OrV256:
    case Iop_XorV128:
    case Iop_XorV256:
    case Iop_AndV256:
        return lanes_each(&a, &b);
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
        return lanes_of_scalar(&a, &b, 2);
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
        return lanes_of_scalar(&a, &b, 1);
    default:
        return lanes_computed(&a, &b);
    }
}

static Value value_of_all(const Symbols *symbols, IRExpr **expressions) {
    Value value = {.layout = LAYOUT_WHOLE};
    for (UInt i = 0; expressions[i]; i++) {
        Value one = symbols_value(symbols, expressions[i]);
        value = lanes_computed(&value, &one);
    }
    return value;
}

static Value value_of_call(const Symbols *symbols, const IRExpr *expression) {
    // What is computed from the flags' thunk: the opcode tells which flags are read.
    static const HChar *const helpers[] = {GUEST_FLAGS_HELPERS};
    for (UInt i = 0; i < sizeof helpers / sizeof *helpers; i++)
        if (VG_(strncmp)(expression->Iex.CCall.cee->name, helpers[i], VG_(strlen)(helpers[i])) == 0)
            return (Value){.layout = LAYOUT_WHOLE};
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
            a = lanes_joined(&quarters[1], &quarters[0], 2);
            Value high = lanes_joined(&quarters[3], &quarters[2], 2);
            return lanes_joined(&high, &a, 4);
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
        return lanes_computed(&a, NULL);
    default:
        return (Value){.layout = LAYOUT_WHOLE};
    }
}
