// Which unwind rule holds at an address of a process.
#ifndef WHYPERF_TRACER_RULES_H
#define WHYPERF_TRACER_RULES_H

#include "bpf/maps.h"

enum { INDEX_SHIFT = 7 };
enum { RULE_NONE = TRACE_RULES, RULE_NO_MODULE };

struct unwinding {
    struct trace_cpu *cpu;
    struct trace_scratch *scratch;
    u32 extent, mappings, generation;
};

static __always_inline bool find_mapping(struct unwinding *unwinding, u64 pc) {
    struct trace_mapping *found = &unwinding->scratch->mapping;
    if (pc >= found->start && pc < found->end)
        return true;
    u32 low = unwinding->extent, high = low + unwinding->mappings;
    for (u32 i = 0; i < 13; i++) {
        if (low >= high)
            break;
        u32 middle = (low + high) / 2;
        struct trace_mapping *mapping = bpf_map_lookup_elem(&wp_mappings, &middle);
        if (!mapping)
            return false;
        if (mapping->end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    struct trace_mapping *mapping = bpf_map_lookup_elem(&wp_mappings, &low);
    if (!mapping || low >= unwinding->extent + unwinding->mappings || pc < mapping->start || pc >= mapping->end)
        return false;
    *found = *mapping;
    return true;
}

// The number of the rule that holds at an address; RULE_NONE if none does.
static __always_inline u32 search_rule(const struct trace_mapping *mapping, u64 pc) {
    u64 address = pc - mapping->bias;
    u32 bucket = (u32)(address >> INDEX_SHIFT) - mapping->first_bucket;
    if (address > 0xffffffff || bucket >= mapping->buckets)
        return RULE_NONE;
    u32 chunk = mapping->chunk;
    void *entries = bpf_map_lookup_elem(&wp_chunks, &chunk);
    if (!entries)
        return RULE_NONE;
    u32 at = mapping->first + bucket;
    union trace_entry *entry = bpf_map_lookup_elem(entries, &at);
    if (!entry)
        return RULE_NONE;
    u32 low = entry->low, high = entry->high;
    for (u32 i = 0; i < 20; i++) {
        if (low >= high)
            break;
        u32 middle = high - (high - low) / 2;
        entry = bpf_map_lookup_elem(entries, &middle);
        if (!entry)
            return RULE_NONE;
        if (entry->address <= (u32)address)
            low = middle;
        else
            high = middle - 1;
    }
    entry = bpf_map_lookup_elem(entries, &low);
    if (!entry || entry->address > (u32)address)
        return RULE_NONE;
    return entry->rule;
}

// The same call sites are met again and again.
static __always_inline u32 find_rule(struct unwinding *unwinding, u64 pc) {
    u64 slot = (pc * 0x9e3779b97f4a7c15ull) >> 54;
    struct trace_cached_rule *cached = &unwinding->cpu->cached[slot & (TRACE_CACHED_RULES - 1)];
    u64 data = cached->data;
    if (data >> 32 == unwinding->generation && (cached->check ^ data) == pc)
        return (u32)data;
    if (!find_mapping(unwinding, pc))
        return RULE_NO_MODULE;
    u32 rule = search_rule(&unwinding->scratch->mapping, pc);
    data = (u64)unwinding->generation << 32 | rule;
    cached->check = pc ^ data;
    barrier();
    cached->data = data;
    return rule;
}

#endif
