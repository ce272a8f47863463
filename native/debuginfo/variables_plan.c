// Plans (values/table.h): what to keep of a frame so that the variables of its list can be told later.
#include "debuginfo/isolate.h"
#include "debuginfo/variables_needs.h"

#include <stdlib.h>
#include <string.h>

enum { BRIDGED_BYTES = 7 };

static int in_order(const void *left, const void *right) {
    const struct wanted *a = left, *b = right;
    if (a->is_slot != b->is_slot)
        return a->is_slot ? -1 : 1;
    if (a->behind != b->behind)
        return a->behind ? 1 : -1;
    if (a->base != b->base)
        return a->base < b->base ? -1 : 1;
    if (a->pointer_at != b->pointer_at)
        return a->pointer_at < b->pointer_at ? -1 : 1;
    return a->offset != b->offset ? (a->offset < b->offset ? -1 : 1) : a->length < b->length ? -1 : 1;
}

static bool same_object(const struct wanted *a, const struct wanted *b) {
    return a->base == b->base && a->behind == b->behind && a->pointer_at == b->pointer_at;
}

// Neighbours become one, padding between them included.
static void merge(struct needs *needs) {
    size_t kept = 0;
    if (needs->count)
        qsort(needs->wanted, needs->count, sizeof *needs->wanted, in_order);
    for (size_t i = 0; i < needs->count; i++) {
        struct wanted *last = kept ? &needs->wanted[kept - 1] : NULL, *next = &needs->wanted[i];
        int64_t end = last ? (int64_t)last->offset + last->length : 0, next_end = (int64_t)next->offset + next->length;
        if (last && same_object(last, next) && next->offset <= end + BRIDGED_BYTES &&
            next_end - last->offset <= VALUES_ITEM_BYTES_MAX)
            last->length = (uint32_t)((end > next_end ? end : next_end) - last->offset);
        else
            needs->wanted[kept++] = *next;
    }
    needs->count = kept;
}

struct plan_image {
    struct values_plan head;
    struct values_item items[VALUES_PLAN_ITEMS_MAX];
    size_t count;
};

static bool add_item(struct plan_image *plan, struct values_item item) {
    if (plan->count == VALUES_PLAN_ITEMS_MAX || plan->head.bytes + item.length > VALUES_PLAN_BYTES_MAX)
        return false;
    plan->items[plan->count++] = item;
    plan->head.bytes += item.length;
    return true;
}

static int32_t plan_of(struct needs *needs, struct variables *variables) {
    struct plan_image plan = {.head = {.registers = needs->registers, .vectors = needs->vectors}};
    merge(needs);
    for (size_t i = 0; i < needs->count; i++) {
        const struct wanted *wanted = &needs->wanted[i];
        struct values_item load = {wanted->base, VALUES_ITEM_LOADS, 8, wanted->pointer_at};
        struct values_item item = {wanted->behind ? (uint8_t)VALUES_BASE_POINTER : wanted->base, 0,
                                   (uint16_t)wanted->length, wanted->offset};
        if (wanted->behind && (!i || !same_object(wanted, wanted - 1)) && !add_item(&plan, load))
            break;
        if (!add_item(&plan, item))
            break;
        if (wanted->is_slot)
            plan.head.slots++;
    }
    plan.head.others = (uint8_t)(plan.count - plan.head.slots);
    return texts_intern(&variables->plans, (const char *)&plan,
                        sizeof plan.head + plan.count * sizeof(struct values_item));
}

static int by_entry(const void *left, const void *right) {
    const struct values_location *a = left, *b = right;
    return a->address != b->address ? (a->address < b->address ? -1 : 1) : (int)a->reg - (int)b->reg;
}

// Pointers with something behind them that only their function's callers still know, by function and register.
static struct column entry_pointers(const struct variables *variables) {
    struct column found = COLUMN(struct values_location);
    const struct values_location *locations = (const struct values_location *)variables->locations.bytes.items;
    for (size_t i = 0; i + 1 < variables->locations.offsets.count; i++)
        if (locations[i].kind == VALUES_ENTRY && locations[i].field_count)
            *(struct values_location *)column_add(&found) = locations[i];
    if (found.count)
        qsort(found.items, found.count, sizeof *locations, by_entry);
    return found;
}

static void want_entry_fields(struct needs *needs, const struct column *pointers, uint32_t target, uint32_t reg,
                              struct found passed) {
    struct values_location key = {.address = target, .reg = (uint8_t)reg};
    const struct values_location *all = (const struct values_location *)pointers->items;
    size_t low = 0, high = pointers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_entry(&all[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < pointers->count && by_entry(&all[low], &key) == 0; low++)
        want_fields(needs, &all[low], passed);
}

// What the call that returns into [low, high) has passed, and its callee may ask for.
static void need_calls(struct needs *needs, const struct column *pointers, uint32_t low, uint32_t high,
                       size_t *next_site) {
    const struct variables *variables = needs->variables;
    const struct values_location *locations = (const struct values_location *)variables->locations.bytes.items;
    for (; *next_site < variables->call_sites.count; (*next_site)++) {
        const struct values_call_site *site = &COLUMN_AT(&variables->call_sites, struct values_call_site, *next_site);
        if (site->return_address - 1 >= high)
            return;
        for (uint32_t i = 0; site->return_address - 1 >= low && i < site->count; i++) {
            const struct values_call_parameter *parameter =
                &COLUMN_AT(&variables->call_parameters, struct values_call_parameter, site->first + i);
            struct found passed = need_location(needs, &locations[parameter->location]);
            want_entry_fields(needs, pointers, site->target, parameter->reg, passed);
        }
    }
}

void make_plans(struct variables *variables) {
    const struct values_location *locations = (const struct values_location *)variables->locations.bytes.items;
    const uint32_t *lists = (const uint32_t *)variables->lists.bytes.items;
    struct needs needs = {.variables = variables, .wanted = calloc(WANTED_MAX, sizeof *needs.wanted)};
    if (!needs.wanted)
        isolate_give_up();
    struct column pointers = entry_pointers(variables);
    size_t next_site = 0, count = variables->segments.count;
    for (size_t i = 0; i < count; i++) {
        struct values_segment *segment = &COLUMN_AT(&variables->segments, struct values_segment, i);
        needs.registers = needs.vectors = 0;
        needs.count = 0;
        for (uint32_t k = 0; k < segment->count; k++)
            need_location(&needs, &locations[lists[segment->first + k]]);
        need_calls(&needs, &pointers, segment->address, i + 1 < count ? segment[1].address : UINT32_MAX, &next_site);
        int32_t plan = plan_of(&needs, variables);
        segment->plan = (uint32_t)(COLUMN_AT(&variables->plans.offsets, uint64_t, plan) / sizeof(uint64_t));
    }
    free(pointers.items);
    free(needs.wanted);
}
