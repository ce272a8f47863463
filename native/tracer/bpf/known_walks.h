// Stacks that were walked a moment ago: programs come back to the same system call from the same place.
//
// Walking takes a search a frame; reading return addresses where the last walk found them takes none. What is read is
// compared as a whole, so that a stack that merely begins alike is walked.
#ifndef WHYPERF_TRACER_KNOWN_WALKS_H
#define WHYPERF_TRACER_KNOWN_WALKS_H

#include "bpf/stacks.h"

struct walk_start {
    u64 pc, sp;
    u64 link;       // return address in a register; 0 on machines that have none there
    u32 generation; // of the mappings that the addresses belong to
};

// A word of the user's stack. Frames lie side by side: what is read around one mostly serves the next ones too.
static __always_inline bool read_word(struct trace_scratch *scratch, u64 address, u64 *word) {
    enum { SIZE = 8 * TRACE_WINDOW_WORDS, BELOW = 64 };
    u64 distance = address - scratch->window_start;
    if (address % 8)
        return bpf_probe_read_user(word, sizeof *word, (void *)address) == 0;
    if (distance >= SIZE) {
        scratch->window_start = address - BELOW;
        distance = BELOW;
        if (bpf_probe_read_user(scratch->window, SIZE, (void *)(address - BELOW))) {
            // Near the end of the stack.
            scratch->window_start = ~0ull;
            return bpf_probe_read_user(word, sizeof *word, (void *)address) == 0;
        }
    }
    *word = scratch->window[distance / 8 & (TRACE_WINDOW_WORDS - 1)];
    return true;
}

static __always_inline void begin_walk(struct trace_scratch *scratch, u64 sp) {
    scratch->window_start = ~0ull;
    scratch->began = sp;
    scratch->beyond = sp % 8;
}

// Of the frame that was noted last: where the address that it returns to lies.
static __always_inline void note_caller(struct trace_scratch *scratch, u64 address) {
    u64 above = (address - scratch->began) / 8;
    u32 caller = scratch->depth - 1;
    if (address % 8 || above >= TRACE_IN_LINK || caller >= TRACE_KNOWN_CALLERS)
        scratch->beyond = 1;
    else
        scratch->above[caller & (TRACE_KNOWN_CALLERS - 1)] = (u16)above;
}

// The same for one that is in a register still.
static __always_inline void note_link(struct trace_scratch *scratch) {
    scratch->above[(scratch->depth - 1) & (TRACE_KNOWN_CALLERS - 1)] = TRACE_IN_LINK;
}

static __always_inline u64 place_of(const struct walk_start *start) {
    return mixed(mix(start->pc ^ start->link, start->sp)) ^ start->generation;
}

// Calls from different places may begin with the same stack pointer: the word there, mostly a return address, keeps
// most of them apart, and of the rest some are kept side by side.
static __always_inline u32 walk_set(struct trace_scratch *scratch, const struct walk_start *start, u64 place) {
    u64 top = 0;
    read_word(scratch, start->sp, &top);
    return (u32)((place ^ mix(0, top)) >> 20) & (TRACE_KNOWN_WALKS / TRACE_WALK_WAYS - 1);
}

static __always_inline struct trace_known_walk *walk_slot(struct trace_cpu *cpu, u32 set, u32 way) {
    return &cpu->walks[(set * TRACE_WALK_WAYS + way % TRACE_WALK_WAYS) & (TRACE_KNOWN_WALKS - 1)];
}

struct rereading {
    struct trace_scratch *scratch;
    const struct trace_known_walk *known;
    const struct walk_start *start;
    u64 hash;
};

// A callback of bpf_loop, which the kernel checks once instead of once a caller: 1 ends it.
static long read_caller(u32 index, struct rereading *again) {
    u64 word = again->start->link;
    u32 above = again->known->above[index & (TRACE_KNOWN_CALLERS - 1)];
    if (above != TRACE_IN_LINK && !read_word(again->scratch, again->start->sp + 8ull * above, &word)) {
        again->hash = 0;
        return 1;
    }
    again->hash = mix(again->hash, unsigned_address(word));
    return 0;
}

static __always_inline bool leads_there(struct trace_scratch *scratch, const struct trace_known_walk *known,
                                        const struct walk_start *start) {
    struct rereading again = {scratch, known, start, mix(0, start->pc)};
    u32 callers = known->callers;
    if (callers > TRACE_KNOWN_CALLERS)
        return false;
    bpf_loop(callers, read_caller, &again, 0);
    return again.hash == known->hash;
}

// The number of the stack, if it is one of those that were walked from there last; else 0.
static __noinline u32 walk_again(struct trace_cpu *cpu, struct trace_scratch *scratch, const struct walk_start *start) {
    u64 place = place_of(start);
    u32 set = walk_set(scratch, start, place);
    for (u32 way = 0; way < TRACE_WALK_WAYS; way++) {
        const struct trace_known_walk *known = walk_slot(cpu, set, way);
        u64 data = known->data;
        if ((known->check ^ known->hash ^ data) != place || known->generation != start->generation ||
            !leads_there(scratch, known, start) || known->data != data) // it may be remembered anew by an interrupt
            continue;
        if (!still_kept(data))
            return 0;
        scratch->kept = data;
        count(cpu, TRACE_COUNT_STACKS_AGAIN);
        return (u32)(data >> 32);
    }
    return 0;
}

static __always_inline void remember_walk(struct trace_cpu *cpu, struct trace_scratch *scratch,
                                          const struct walk_start *start) {
    u64 place = place_of(start);
    if (scratch->beyond || !start->generation)
        return;
    // In turns: two that take turns themselves must not take each other's place.
    struct trace_known_walk *known = walk_slot(cpu, walk_set(scratch, start, place), cpu->walks_remembered++);
    known->check = 0;
    barrier();
    known->hash = scratch->hash;
    known->data = scratch->kept;
    known->generation = start->generation;
    known->callers = scratch->depth - 1;
    bpf_probe_read_kernel(known->above, sizeof known->above, scratch->above);
    barrier();
    known->check = place ^ scratch->hash ^ scratch->kept;
}

#endif
