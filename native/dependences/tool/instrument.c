// SPDX-License-Identifier: GPL-2.0-or-later
#include "instrument.h"

#include "accesses.h"
#include "activations.h"
#include "events.h"
#include "guest.h"
#include "readers.h"
#include "recording.h"
#include "registers.h"
#include "shadow.h"
#include "watches.h"

static IRExpr *constant(UWord value) {
    return IRExpr_Const(IRConst_U64(value));
}

static IRExpr *assigned(IRSB *out, IRType type, IRExpr *expression) {
    IRTemp temporary = newIRTemp(out->tyenv, type);
    addStmtToIRSB(out, IRStmt_WrTmp(temporary, expression));
    return IRExpr_RdTmp(temporary);
}

static IRExpr *guest_register(IRSB *out, Int offset) {
    return assigned(out, Ity_I64, IRExpr_Get(offset, Ity_I64));
}

static IRExpr *loaded(IRSB *out, const void *address) {
    return assigned(out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, constant((UWord)address)));
}

static void call(IRSB *out, const HChar *name, void *function, Int registers, IRExpr **arguments, IRExpr *guard) {
    IRDirty *dirty = unsafeIRDirty_0_N(registers, name, VG_(fnptr_to_fnentry)(function), arguments);
    if (guard)
        dirty->guard = guard;
    addStmtToIRSB(out, IRStmt_Dirty(dirty));
}

// The address, or 0 when the access does not happen.
static IRExpr *actual_address(IRSB *out, const Operation *operation) {
    if (!operation->guard)
        return operation->address;
    return assigned(out, Ity_I64, IRExpr_ITE(operation->guard, operation->address, constant(0)));
}

static void count_instructions(IRSB *out, UInt *pending) {
    if (!*pending)
        return;
    IRExpr *sum = assigned(out, Ity_I64, IRExpr_Binop(Iop_Add64, loaded(out, &instructions), constant(*pending)));
    addStmtToIRSB(out, IRStmt_Store(Iend_LE, constant((UWord)&instructions), sum));
    *pending = 0;
}

// Where the stack pointer is, or would be if calls pushed the return address.
static IRExpr *stack_position(IRSB *out) {
    IRExpr *stack_pointer = guest_register(out, GUEST_STACK_POINTER);
    if (!LINK_BYTES)
        return stack_pointer;
    return assigned(out, Ity_I64, IRExpr_Binop(Iop_Sub64, stack_pointer, constant(LINK_BYTES)));
}

static IRExpr *return_address(IRSB *out) {
#ifdef GUEST_LINK
    return guest_register(out, GUEST_LINK);
#else
    IRExpr *stack_pointer = guest_register(out, GUEST_STACK_POINTER);
    return assigned(out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, stack_pointer));
#endif
}

static void report_entry(IRSB *out, const PlanFunction *function) {
    IRExpr *position = stack_position(out);
    if (function->heap == HEAP_STORES)
        call(out, "enter_storing", activations_enter_storing, 3,
             mkIRExprVec_6(constant((UWord)function), position, guest_register(out, GUEST_ARGUMENT_0),
                           guest_register(out, GUEST_ARGUMENT_1), guest_register(out, GUEST_ARGUMENT_2),
                           return_address(out)),
             NULL);
    else if (function->heap)
        call(out, "enter_heap", activations_enter_heap, 3,
             mkIRExprVec_5(constant((UWord)function), position, guest_register(out, GUEST_ARGUMENT_0),
                           guest_register(out, GUEST_ARGUMENT_1), return_address(out)),
             NULL);
    else
        call(out, "enter", activations_enter, 2, mkIRExprVec_2(constant((UWord)function), position), NULL);
}

static void report_resumption(IRSB *out, const PlanFunction *function) {
    IRExpr *stack_pointer = guest_register(out, GUEST_STACK_POINTER);
    IRExpr *gone =
        assigned(out, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, loaded(out, &activations_innermost), stack_pointer));
    call(out, "resume", activations_resume, 2, mkIRExprVec_2(constant((UWord)function), stack_position(out)), gone);
}

// Code that is not listed may return in place of the function that jumped to it: calloc ends in memset.
static void report_return(IRSB *out, Bool listed) {
    IRExpr *stack_pointer = guest_register(out, GUEST_STACK_POINTER), *gone = NULL;
    if (!listed) {
        IRExpr *above =
            assigned(out, Ity_I64, IRExpr_Binop(Iop_Add64, loaded(out, &activations_innermost), constant(8)));
        gone = assigned(out, Ity_I1, IRExpr_Binop(Iop_CmpEQ64, above, stack_pointer));
    }
    call(out, "return", activations_return, 2, mkIRExprVec_2(stack_pointer, guest_register(out, GUEST_RESULT)), gone);
}

static void check_watches(IRSB *out, const Operation *operation, const Site *site) {
    IRExpr *address = actual_address(out, operation);
    IRExpr *offset = assigned(out, Ity_I64, IRExpr_Binop(Iop_Sub64, address, loaded(out, &watches_low)));
    IRExpr *near = assigned(out, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, offset, loaded(out, &watches_span)));
    call(out, "watch", watches_check, 3,
         mkIRExprVec_3(address, constant(operation->access.size), constant(site->number)), near);
}

// Without a call: these registers were written outside.
static void tag_registers(IRSB *out, const Site *site) {
    const Run *writes = site->inputs.runs + site->inputs.values + site->inputs.addresses;
    UInt tag = OUTSIDE | site->number;
    for (UInt i = 0; i < site->inputs.writes; i++)
        for (UInt cell = 0; cell < writes[i].count;) {
            UWord address = (UWord)(shadow_registers + writes[i].first + cell);
            Bool two = cell + 2 <= writes[i].count;
            addStmtToIRSB(out, IRStmt_Store(Iend_LE, constant(address),
                                            two ? constant((UWord)tag << 32 | tag) : IRExpr_Const(IRConst_U32(tag))));
            cell += two ? 2 : 1;
        }
}

// How an instruction's values are followed: by events, handed on, tagged, or not at all.
typedef enum { FOLLOW_NOT, FOLLOW_EVENTS, FOLLOW_PASS, FOLLOW_TAG } Follow;

static Follow follow_of(const Site *site) {
    if (site->mode == MODE_ZOOM)
        return FOLLOW_EVENTS;
    if (!plan.zooms)
        return plan.pairs || plan.reads ? FOLLOW_TAG : FOLLOW_NOT;
    // Callees save and restore their callers' registers: that is no new value.
    return site_passes(site) || site_saves_registers(site) ? FOLLOW_PASS : FOLLOW_TAG;
}

static Bool acts_for_caller(const Site *site) {
    return plan.reads && !site->of_plan;
}

typedef struct {
    IRSB *out;
    Site *site;
    Follow follow;
    const Operations *operations;
    IRExpr *addresses[2];
} Instruction;

static void follow_call(const Instruction *instruction) {
    Bool events = instruction->follow == FOLLOW_EVENTS;
    call(instruction->out, events ? "event" : "pass", events ? (void *)events_write : (void *)events_pass, 3,
         mkIRExprVec_3(constant((UWord)instruction->site), instruction->addresses[0], instruction->addresses[1]), NULL);
}

// Bytes that an instruction loads are numbered in the order of its loads.
static UInt loaded_before(const Instruction *instruction, UInt index) {
    UInt bytes = 0;
    for (UInt i = 0; i < index; i++)
        if (instruction->operations->operations[i].access.kind & ACCESS_LOAD)
            bytes += instruction->operations->operations[i].access.size;
    return bytes;
}

static void report_read(const Instruction *instruction, UInt index) {
    IRSB *out = instruction->out;
    const PlanReader *reader = instruction->site->reader;
    Operation part = instruction->operations->operations[index];
    UInt begins = loaded_before(instruction, index), ends = begins + part.access.size;
    UInt low = begins > reader->offset ? begins : reader->offset;
    UInt high = ends < reader->offset + reader->size ? ends : reader->offset + reader->size;
    if (low >= high)
        return;
    if (low > begins)
        part.address = assigned(out, Ity_I64, IRExpr_Binop(Iop_Add64, part.address, constant(low - begins)));
    call(out, "read", readers_load, 3,
         mkIRExprVec_3(actual_address(out, &part), constant(high - low), constant(instruction->site->number)), NULL);
}

static void report_read_for_caller(IRSB *out, const Operation *operation) {
    IRExpr *cell = IRExpr_Load(Iend_LE, Ity_I32, constant((UWord)&shadow_registers[CELL_READING_CALL]));
    IRExpr *asked =
        assigned(out, Ity_I1, IRExpr_Binop(Iop_CmpNE32, assigned(out, Ity_I32, cell), IRExpr_Const(IRConst_U32(0))));
    call(out, "read_for_caller", readers_load_for_caller, 2,
         mkIRExprVec_2(actual_address(out, operation), constant(operation->access.size)), asked);
}

// What is executed next in other modules is done in the name of this instruction.
static void remember_caller(IRSB *out, const Site *site) {
    UInt reading = site->reader ? site->number : 0;
    addStmtToIRSB(out, IRStmt_Store(Iend_LE, constant((UWord)&shadow_registers[CELL_CALL]),
                                    constant((UWord)reading << 32 | site->number)));
}

static void before_operation(Instruction *instruction, UInt index) {
    IRSB *out = instruction->out;
    const Operation *operation = &instruction->operations->operations[index];
    const Site *site = instruction->site;
    UInt count = instruction->operations->count, in_call = count > 2 ? count - 2 : 0;
    if (plan.pairs && (operation->access.kind & ACCESS_LOAD) && site_is_listed(site))
        call(out, "pair", events_pair_load, 3,
             mkIRExprVec_3(actual_address(out, operation), constant(operation->access.size), constant(site->number)),
             NULL);
    if (site->reader && (operation->access.kind & ACCESS_LOAD))
        report_read(instruction, index);
    if (acts_for_caller(site) && (operation->access.kind & ACCESS_LOAD))
        report_read_for_caller(out, operation);
    if (acts_for_caller(site) && (operation->access.kind & ACCESS_STORE))
        call(out, "tag_for_caller", readers_store_for_caller, 3,
             mkIRExprVec_3(actual_address(out, operation), constant(operation->access.size), constant(site->number)),
             NULL);
    else if (instruction->follow == FOLLOW_TAG && (operation->access.kind & ACCESS_STORE))
        call(out, "tag", events_tag_store, 3,
             mkIRExprVec_3(actual_address(out, operation), constant(operation->access.size),
                           constant(OUTSIDE | site->number)),
             NULL);
    if (instruction->follow != FOLLOW_EVENTS && instruction->follow != FOLLOW_PASS)
        return;
    IRExpr *address = actual_address(out, operation);
    if (index >= in_call) {
        instruction->addresses[index - in_call] = address;
    } else {
        IRExpr *size = constant(operation->access.size);
        if (operation->access.kind & ACCESS_LOAD)
            call(out, "more_load", events_more_load, 2, mkIRExprVec_2(address, size), NULL);
        if (operation->access.kind & ACCESS_STORE)
            call(out, "more_store", events_more_store, 2, mkIRExprVec_2(address, size), NULL);
    }
    // All addresses are known now, and nothing was stored yet.
    if (index + 1 == count)
        follow_call(instruction);
}

static void remember_accesses(Site *site, const Operations *operations) {
    if (site->known_accesses)
        return;
    site->known_accesses = True;
    UInt first = operations->count > 2 ? operations->count - 2 : 0;
    for (UInt i = first; i < operations->count; i++)
        site->accesses[i - first] = operations->operations[i].access;
}

// Statements [first, end) of `in`, an instruction's without its mark.
static void instrument_instruction(IRSB *out, const IRSB *in, Int first, Int end, Site *site, UInt *pending) {
    Operations operations = operations_of(in, first, end);
    remember_accesses(site, &operations);
    Instruction instruction = {out, site, follow_of(site), &operations, {constant(0), constant(0)}};
    if (site->mark && site->mode != MODE_ZOOM)
        call(out, "mark", events_write_mark, 1, mkIRExprVec_1(constant((UWord)site)), NULL);
    if (!operations.count && (instruction.follow == FOLLOW_EVENTS || instruction.follow == FOLLOW_PASS))
        follow_call(&instruction);
    if (instruction.follow == FOLLOW_TAG && plan.zooms)
        tag_registers(out, site);
    UInt next = 0;
    for (Int i = first; i < end; i++) {
        UInt here = next;
        for (; next < operations.count && operations.operations[next].statement == i; next++)
            before_operation(&instruction, next);
        if (in->stmts[i]->tag == Ist_Exit)
            count_instructions(out, pending);
        addStmtToIRSB(out, in->stmts[i]);
        for (; plan.watch_count && here < next; here++)
            if (operations.operations[here].access.kind & ACCESS_STORE)
                check_watches(out, &operations.operations[here], site);
    }
}

// Lifting instructions one by one goes through a function that libvex does not promise to keep.
static void check_lifter(const VexArchInfo *processor) {
    static Bool checked;
    if (checked)
        return;
    checked = True;
    if (lifts_as_expected(processor))
        return;
    VG_(fmsg)("whyperf: this valgrind's instruction lifter is not the one that the tool was written for\n");
    VG_(exit)(1);
}

IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *extents,
                 const VexArchInfo *processor, IRType guest_word, IRType host_word) {
    (void)closure, (void)layout, (void)extents, (void)guest_word, (void)host_word;
    check_lifter(processor);
    IRSB *out = deepCopyIRSBExceptStmts(in);
    Int at = 0;
    while (at < in->stmts_used && in->stmts[at]->tag != Ist_IMark)
        addStmtToIRSB(out, in->stmts[at++]);
    UInt pending = 0;
    Bool first = True;
    const Site *site = NULL;
    while (at < in->stmts_used) {
        const IRStmt *mark = in->stmts[at];
        Int end = at + 1;
        while (end < in->stmts_used && in->stmts[end]->tag != Ist_IMark)
            end++;
        addStmtToIRSB(out, in->stmts[at]);
        if (mark->Ist.IMark.len) {
            Site *here = site_at(mark->Ist.IMark.addr, mark->Ist.IMark.len, processor);
            if (site_is_listed(here) && here->is_entry) {
                count_instructions(out, &pending);
                report_entry(out, here->function);
            } else if (site_is_listed(here) && first) {
                report_resumption(out, here->function);
            }
            first = False;
            pending++;
            instrument_instruction(out, in, at + 1, end, here, &pending);
            site = here;
        } else {
            for (Int i = at + 1; i < end; i++)
                addStmtToIRSB(out, in->stmts[i]);
        }
        at = end;
    }
    count_instructions(out, &pending);
    if (plan.reads && site && site->of_plan)
        remember_caller(out, site);
    if (in->jumpkind == Ijk_Ret)
        report_return(out, site && site_is_listed(site));
    if (in->jumpkind == Ijk_NoDecode)
        call(out, "unsupported", record_unsupported, 0, mkIRExprVec_1(in->next), NULL);
    return out;
}
