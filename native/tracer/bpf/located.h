// Registers of callers: not read when a frame is left, only where they lie, since most are never asked for.
#ifndef WHYPERF_TRACER_LOCATED_H
#define WHYPERF_TRACER_LOCATED_H

#include "bpf/known_walks.h"

enum { KIND_NONE, KIND_OFFSET, KIND_DEREF, KIND_PLT, KIND_SIGNAL, KIND_END, KIND_RULE, KIND_REALIGN, KIND_DEREF_PLUS };
enum { CUT_NONE, CUT_NO_MODULE, CUT_NO_ROW, CUT_RULE, CUT_REGISTER, CUT_UNREADABLE, CUT_NO_PROGRESS, CUT_DEPTH };
enum { SAVED_SAME = 0, SAVED_LOST = 127 };

static __always_inline u32 register_value(struct trace_scratch *scratch, u32 reg, u64 *value) {
    reg &= TRACE_REGISTER_SLOTS - 1;
    *value = scratch->value[reg];
    if (scratch->known >> reg & 1)
        return CUT_NONE;
    if (!(scratch->located >> reg & 1))
        return CUT_REGISTER;
    return read_word(scratch, *value, value) ? CUT_NONE : CUT_UNREADABLE;
}

static __always_inline void locate(struct trace_scratch *scratch, u32 reg, signed char saved, u64 base, bool based) {
    if (saved == SAVED_SAME)
        return;
    scratch->known &= ~(1ull << reg);
    scratch->located &= ~(1ull << reg);
    if (saved == SAVED_LOST || !based)
        return;
    scratch->value[reg] = base + (u64)((s64)saved * 8);
    scratch->located |= 1ull << reg;
}

#endif
