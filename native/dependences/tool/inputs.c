// SPDX-License-Identifier: GPL-2.0-or-later
#include "inputs.h"

#include "guest.h"
#include "parts.h"
#include "registers.h"
#include "shadow.h"

// Inside libvex, not in its headers: lifts one instruction into `block`.
typedef struct {
    UInt length;
    UInt what_next;
    UInt hint;
    IRJumpKind jump;
} Lifted;
extern Lifted GUEST_LIFTER(IRSB *block, const UChar *code, Long offset, Addr address, VexArch architecture,
                           const VexArchInfo *processor, const VexAbiInfo *abi, VexEndness endness, Bool complain);

#define TEMPORARIES_MOST 4096
static Value temporaries[TEMPORARIES_MOST];
static Symbols symbols = {.temporaries = temporaries, .temporaries_most = TEMPORARIES_MOST};

typedef struct {
    Parts values, addresses, writes;
    Bool writes_flags, helper;
} Found;

static void is_value(Found *found, const IRExpr *expression) {
    Value value = symbols_value(&symbols, expression);
    Parts parts = value_parts(&value);
    parts_add(&found->values, &parts);
}

static void is_address(Found *found, const IRExpr *expression) {
    Value value = symbols_value(&symbols, expression);
    Parts parts = value_parts(&value);
    parts_add(&found->addresses, &parts);
}

static void into_register(Found *found, Int offset, const IRExpr *data) {
    if (offset >= GUEST(CC_OP) && offset <= GUEST(CC_NDEP)) {
        if (offset == GUEST(CC_OP))
            found->writes_flags = True;
        else if (offset != GUEST(CC_NDEP))
            is_value(found, data);
        return;
    }
    if (offset == GUEST_PROGRAM_COUNTER) {
        is_value(found, data);
        return;
    }
    Place place = place_of(offset, typeOfIRExpr(symbols.types, data));
    Value value = symbols_value(&symbols, data);
    for (UInt i = 0; i < place.count; i++) {
        Parts parts = value_lane(&value, place.layout, i);
        UInt part = place.first + i;
        // A lane put back as it was is untouched: Valgrind writes whole registers where addsd writes half of one.
        if (place.layout == LAYOUT_DWORDS && parts_are_just(&parts, part) && !parts_has(&found->writes, part))
            continue;
        // One or two bytes of a lane: the rest of it stays what it was.
        if (place.layout == LAYOUT_DWORDS && sizeofIRType(typeOfIRExpr(symbols.types, data)) < 4)
            parts_add(&parts, &symbols.registers[part]);
        parts_add(&found->values, &parts);
        parts_add_one(&found->writes, part);
        symbols.registers[part] = parts;
    }
}

static void into_temporary(IRTemp temporary, Value value) {
    if (temporary < TEMPORARIES_MOST)
        temporaries[temporary] = value;
}

static void through_helper(Found *found, const IRDirty *call) {
    static const Int sizes[] = {1, 2, 4, 8, 16, 32};
    found->helper = True;
    for (UInt i = 0; call->args[i]; i++)
        if (!is_IRExpr_VECRET_or_GSPTR(call->args[i]))
            is_value(found, call->args[i]);
    if (call->mFx != Ifx_None)
        is_address(found, call->mAddr);
    for (Int i = 0; i < call->nFxState; i++)
        for (Int repeat = 0; repeat <= call->fxState[i].nRepeats; repeat++) {
            Int offset = call->fxState[i].offset + repeat * call->fxState[i].repeatLen;
            IRType type = Ity_I64;
            for (UInt s = 0; s < 6; s++)
                if (sizes[s] == call->fxState[i].size)
                    type = (IRType[]){Ity_I8, Ity_I16, Ity_I32, Ity_I64, Ity_V128, Ity_V256}[s];
            Place place = place_of(offset, type);
            for (UInt part = place.first; part < place.first + place.count; part++) {
                if (call->fxState[i].fx != Ifx_Write)
                    parts_add(&found->values, &symbols.registers[part]);
                if (call->fxState[i].fx != Ifx_Read)
                    parts_add_one(&found->writes, part);
            }
        }
    if (call->tmp != IRTemp_INVALID) {
        Value value = {.layout = LAYOUT_WHOLE, .lane = {found->values}};
        parts_add_one(&value.lane[0], PART_COMPUTED);
        into_temporary(call->tmp, value);
    }
}

static void interpret(Found *found, const IRStmt *statement) {
    switch (statement->tag) {
    case Ist_WrTmp:
        if (statement->Ist.WrTmp.data->tag == Iex_Load)
            is_address(found, statement->Ist.WrTmp.data->Iex.Load.addr);
        into_temporary(statement->Ist.WrTmp.tmp, symbols_value(&symbols, statement->Ist.WrTmp.data));
        break;
    case Ist_Put:
        into_register(found, statement->Ist.Put.offset, statement->Ist.Put.data);
        break;
    case Ist_PutI:
        into_register(found, statement->Ist.PutI.details->descr->base, statement->Ist.PutI.details->data);
        break;
    case Ist_Store:
        is_address(found, statement->Ist.Store.addr);
        is_value(found, statement->Ist.Store.data);
        break;
    case Ist_StoreG:
        is_address(found, statement->Ist.StoreG.details->addr);
        is_value(found, statement->Ist.StoreG.details->data);
        is_value(found, statement->Ist.StoreG.details->guard);
        break;
    case Ist_LoadG: {
        const IRLoadG *load = statement->Ist.LoadG.details;
        is_address(found, load->addr);
        is_value(found, load->guard);
        Value value = symbols_value(&symbols, load->alt);
        for (UInt i = 0; i < 8; i++)
            parts_add_one(&value.lane[i], PART_COMPUTED);
        into_temporary(load->dst, value);
        break;
    }
    case Ist_CAS: {
        const IRCAS *swap = statement->Ist.CAS.details;
        is_address(found, swap->addr);
        is_value(found, swap->dataLo);
        // For a locked add the expected value is what was just loaded; for cmpxchg it is rax.
        is_value(found, swap->expdLo);
        if (swap->dataHi) {
            is_value(found, swap->dataHi);
            is_value(found, swap->expdHi);
            into_temporary(swap->oldHi, (Value){.layout = LAYOUT_WHOLE});
        }
        into_temporary(swap->oldLo, (Value){.layout = LAYOUT_WHOLE});
        break;
    }
    case Ist_Exit:
        // Others raise signals: for an address that is not aligned, for a division by zero.
        if (statement->Ist.Exit.jk == Ijk_Boring)
            is_value(found, statement->Ist.Exit.guard);
        break;
    case Ist_Dirty:
        through_helper(found, statement->Ist.Dirty.details);
        break;
    default:
        break;
    }
}

static void expression_addresses(Found *found, const IRExpr *expression) {
    // Before flattening, loads may stand inside expressions.
    switch (expression->tag) {
    case Iex_Load:
        is_address(found, expression->Iex.Load.addr);
        expression_addresses(found, expression->Iex.Load.addr);
        break;
    case Iex_Unop:
        expression_addresses(found, expression->Iex.Unop.arg);
        break;
    case Iex_Binop:
        expression_addresses(found, expression->Iex.Binop.arg1);
        expression_addresses(found, expression->Iex.Binop.arg2);
        break;
    case Iex_Triop:
        expression_addresses(found, expression->Iex.Triop.details->arg2);
        expression_addresses(found, expression->Iex.Triop.details->arg3);
        break;
    case Iex_ITE:
        expression_addresses(found, expression->Iex.ITE.iftrue);
        expression_addresses(found, expression->Iex.ITE.iffalse);
        break;
    default:
        break;
    }
}

static UChar append(Inputs *inputs, UInt *used, const Parts *parts, UChar flags) {
    UInt start = *used;
    for (UInt part = 0; part < PARTS + 6; part++) {
        Run run;
        if (part < PARTS) {
            if (part == PART_COMPUTED || !parts_has(parts, part))
                continue;
            run = cells_of(part);
        } else {
            if (!((flags >> (part - PARTS)) & 1))
                continue;
            run = (Run){(UShort)(CELL_FLAGS + part - PARTS), 1};
        }
        Run *last = *used > start ? &inputs->runs[*used - 1] : NULL;
        Bool same_register = last && (part >= PARTS || run.first % 8 != 0);
        if (same_register && last->first + last->count == run.first)
            last->count = (UShort)(last->count + run.count);
        else if (*used < RUNS_MOST)
            inputs->runs[(*used)++] = run;
    }
    return (UChar)(*used - start);
}

static Inputs assembled(const Found *found, Opcode opcode, UInt length) {
    Inputs inputs = {.opcode = opcode, .length = (UChar)length, .helper = found->helper};
    Parts addresses = found->addresses;
    for (UInt i = 0; i < PARTS / 64; i++)
        addresses.bits[i] &= ~found->values.bits[i];
    UInt used = 0;
    inputs.values = append(&inputs, &used, &found->values, opcode.flags_read);
    inputs.addresses = append(&inputs, &used, &addresses, 0);
    inputs.writes = append(&inputs, &used, &found->writes, found->writes_flags ? opcode.flags_written : 0);
    inputs.x87 = parts_has(&found->values, PART_X87) || parts_has(&found->writes, PART_X87);
    return inputs;
}

Inputs inputs_of(Addr address, const VexArchInfo *processor) {
    IRSB *block = emptyIRSB();
    Lifted lifted = GUEST_LIFTER(block, (const UChar *)address, 0, address, GUEST_ARCHITECTURE, processor,
                                 abi_of_guest(), VexEndnessLE, False);
    Found found = {0};
    symbols_start(&symbols);
    symbols.types = block->tyenv;
    for (Int i = 0; i < block->stmts_used; i++) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag == Ist_WrTmp && statement->Ist.WrTmp.data->tag != Iex_Load)
            expression_addresses(&found, statement->Ist.WrTmp.data);
        else if (statement->tag == Ist_Put)
            expression_addresses(&found, statement->Ist.Put.data);
        else if (statement->tag == Ist_Store)
            expression_addresses(&found, statement->Ist.Store.data);
        interpret(&found, statement);
    }
    return assembled(&found, opcode_read((const UChar *)address), lifted.length);
}
