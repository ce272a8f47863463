// SPDX-License-Identifier: GPL-2.0-or-later
#include "accesses.h"

static void add(Operations *operations, UChar kind, Int size, IRExpr *address, IRExpr *guard, Int statement) {
    if (operations->count < OPERATIONS_MOST)
        operations->operations[operations->count++] = (Operation){{kind, (UShort)size}, address, guard, statement};
}

static Int size_of(const IRSB *block, const IRExpr *expression) {
    return sizeofIRType(typeOfIRExpr(block->tyenv, expression));
}

Operations operations_of(const IRSB *block, Int first, Int end) {
    Operations found;
    found.count = 0;
    for (Int i = first; i < end; i++) {
        const IRStmt *statement = block->stmts[i];
        switch (statement->tag) {
        case Ist_WrTmp: {
            const IRExpr *data = statement->Ist.WrTmp.data;
            if (data->tag == Iex_Load)
                add(&found, ACCESS_LOAD, sizeofIRType(data->Iex.Load.ty), data->Iex.Load.addr, NULL, i);
            break;
        }
        case Ist_Store:
            add(&found, ACCESS_STORE, size_of(block, statement->Ist.Store.data), statement->Ist.Store.addr, NULL, i);
            break;
        case Ist_StoreG: {
            const IRStoreG *store = statement->Ist.StoreG.details;
            add(&found, ACCESS_STORE, size_of(block, store->data), store->addr, store->guard, i);
            break;
        }
        case Ist_LoadG: {
            const IRLoadG *load = statement->Ist.LoadG.details;
            IRType result, loaded;
            typeOfIRLoadGOp(load->cvt, &result, &loaded);
            add(&found, ACCESS_LOAD, sizeofIRType(loaded), load->addr, load->guard, i);
            break;
        }
        case Ist_CAS: {
            const IRCAS *swap = statement->Ist.CAS.details;
            Int size = size_of(block, swap->dataLo) * (swap->dataHi ? 2 : 1);
            add(&found, ACCESS_LOAD | ACCESS_STORE, size, swap->addr, NULL, i);
            break;
        }
        case Ist_Dirty: {
            const IRDirty *call = statement->Ist.Dirty.details;
            UChar kind = call->mFx == Ifx_Read     ? ACCESS_LOAD
                         : call->mFx == Ifx_Write  ? ACCESS_STORE
                         : call->mFx == Ifx_Modify ? ACCESS_LOAD | ACCESS_STORE
                                                   : 0;
            if (kind)
                add(&found, kind, call->mSize, call->mAddr, NULL, i);
            break;
        }
        default:
            break;
        }
    }
    return found;
}
