// Keeping every stack once: found again by its hash, stored in pages of the CPU that met it first.
#ifndef WHYPERF_TRACER_STACKS_H
#define WHYPERF_TRACER_STACKS_H

#include "bpf/scope.h"

// MurmurHash64A's step for one word.
static __always_inline u64 mix(u64 hash, u64 word) {
    const u64 by = 0xc6a4a7935bd1e995ull;
    word *= by;
    word ^= word >> 47;
    return (hash ^ word * by) * by;
}

static __always_inline u64 mixed(u64 hash) {
    hash ^= hash >> 47;
    hash *= 0xc6a4a7935bd1e995ull;
    return hash ^ hash >> 47;
}

// Pages are overwritten from the first one on; a stack stored three fourths of them ago is stored again.
static __always_inline u32 age(const struct trace_cpu *cpu) {
    return (u32)(cpu->stack_head / (TRACE_STACK_PAGE / 4) / settings.stack_pages) & 0xfffff;
}

static __always_inline bool still_kept(u64 data) {
    u32 number = (u32)data >> 20;
    struct trace_cpu *keeper = bpf_map_lookup_elem(&wp_cpus, &number);
    return keeper && ((age(keeper) - (u32)data) & 0xfffff) < 3;
}

static __always_inline struct trace_stack_page *page_at(u32 cpu, u64 position) {
    u32 key = (u32)(cpu * settings.stack_pages + (position / TRACE_STACK_PAGE & (settings.stack_pages - 1)));
    return bpf_map_lookup_elem(&wp_pages, &key);
}

static __always_inline bool store(struct trace_cpu *cpu, struct trace_scratch *scratch, u32 number, u32 flags) {
    u32 depth = scratch->depth;
    if (depth == 0 || depth > TRACE_MAX_FRAMES)
        return false;
    u64 size = sizeof(struct traced_stack) + 8 * depth;
    u64 position = __sync_fetch_and_add(&cpu->stack_head, size);
    struct trace_stack_page *page = page_at(scratch->cpu, position);
    if (!page)
        return false;
    u64 at = position & (TRACE_STACK_PAGE - 8);
    struct traced_stack *head = (struct traced_stack *)&page->bytes[at];
    head->number = number;
    head->depth = (u16)depth;
    head->flags = (u16)flags;
    bpf_probe_read_kernel(&page->bytes[at + sizeof *head], 8 * depth, scratch->frames);
    u64 end = position + size;
    if (end / TRACE_STACK_PAGE != position / TRACE_STACK_PAGE) {
        struct trace_stack_page *next = page_at(scratch->cpu, end);
        if (next)
            next->first = end;
    }
    count(cpu, TRACE_COUNT_STACKS_KEPT);
    return true;
}

// The number of the stack in `scratch`; 0 when there was none.
static __noinline u32 intern(struct trace_cpu *cpu, struct trace_scratch *scratch, u32 flags) {
    u64 hash = mixed(mix(scratch->hash, (u64)scratch->depth << 16 | flags));
    u32 key = (u32)hash & (u32)(settings.intern_sets - 1);
    struct trace_interned_set *set = bpf_map_lookup_elem(&wp_interned, &key);
    if (!set)
        return 0;
    u32 way = (u32)(hash >> 32) & (TRACE_INTERN_WAYS - 1);
    u32 number = 0;
#pragma unroll
    for (u32 i = 0; i < TRACE_INTERN_WAYS; i++) {
        u64 data = set->ways[i].data;
        if (!data) {
            way = i;
            break;
        }
        if ((set->ways[i].check ^ data) == hash) {
            if (still_kept(data)) {
                scratch->kept = data;
                return (u32)(data >> 32);
            }
            number = (u32)(data >> 32);
            way = i;
            break;
        }
    }
    if (!number)
        number = (u32)__sync_fetch_and_add(&globals.stack_numbers, 1) + 1;
    if (!store(cpu, scratch, number, flags))
        return 0;
    u64 data = (u64)number << 32 | (u64)(scratch->cpu & 0xfff) << 20 | age(cpu);
    scratch->kept = data;
    way &= TRACE_INTERN_WAYS - 1;
    set->ways[way].check = hash ^ data;
    barrier();
    set->ways[way].data = data;
    return number;
}

// A tracepoint's program sees itself: this function, the program, and who called that.
enum { FRAMES_OF_PROGRAM = 3 };

static __noinline u32 kernel_stack(void *ctx, struct trace_cpu *cpu, struct trace_scratch *scratch, u64 skipped) {
    long bytes = bpf_get_stack(ctx, scratch->frames, 8 * TRACE_MAX_KERNEL_FRAMES, skipped);
    if (bytes <= 0)
        return 0;
    u32 depth = (u32)bytes / 8;
    u64 hash = 0;
    for (u32 i = 0; i < TRACE_MAX_KERNEL_FRAMES; i++) {
        if (i >= depth)
            break;
        hash = mix(hash, scratch->frames[i]);
    }
    scratch->depth = depth;
    scratch->hash = hash;
    return intern(cpu, scratch, TRACED_STACK_KERNEL);
}

#endif
