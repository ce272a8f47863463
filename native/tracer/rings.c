#include "tracer/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static u64 read_once(const u64 *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

// A program that was interrupted by another one's events writes after them, with an earlier time.
static void sort_by_time(struct trace_record *records, u64 count) {
    for (u64 i = 1; i < count; i++) {
        if (records[i - 1].time <= records[i].time)
            continue;
        struct trace_record moved = records[i];
        u64 to = i;
        for (; to > 0 && records[to - 1].time > moved.time; to--)
            records[to] = records[to - 1];
        records[to] = moved;
    }
}

u64 records_waiting(const struct tracer *tracer, u32 cpu, u64 position) {
    u64 waiting = read_once(&tracer_cpu(tracer, cpu)->committed) - position;
    return waiting < tracer->settings->ring_slots ? waiting : tracer->settings->ring_slots;
}

struct records_copy copy_records(const struct tracer *tracer, u32 cpu, u64 *position, struct trace_record *into,
                                 u64 room) {
    const u64 slots = tracer->settings->ring_slots;
    const struct trace_record *ring = (const struct trace_record *)tracer->maps[IN_RING].memory + cpu * slots;
    struct trace_cpu *state = tracer_cpu(tracer, cpu);
    u64 end = read_once(&state->committed), from = *position;
    struct records_copy copy = {0};
    if (end - from > slots) {
        copy.lost = end - slots - from;
        from = end - slots;
    }
    if (end - from > room)
        end = from + room;
    *position = end;
    u64 slot = from % slots;
    u64 first = slots - slot < end - from ? slots - slot : end - from;
    memcpy(into, ring + slot, first * sizeof *ring);
    memcpy(into + first, ring, (end - from - first) * sizeof *ring);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    u64 head = read_once(&state->head);
    u64 overwritten = head > slots && head - slots > from ? head - slots - from : 0;
    if (overwritten > end - from)
        overwritten = end - from;
    copy.lost += overwritten;
    copy.count = end - from - overwritten;
    if (overwritten)
        memmove(into, into + overwritten, copy.count * sizeof *into);
    sort_by_time(into, copy.count);
    return copy;
}

u64 oldest_time(const struct tracer *tracer, u32 cpu) {
    struct trace_record few[16];
    u64 waiting = records_waiting(tracer, cpu, 0);
    // What is written meanwhile goes over the oldest: if they are gone when they have been copied, further on.
    for (u64 ahead = 0; ahead < waiting; ahead = 2 * ahead + 16) {
        u64 position = read_once(&tracer_cpu(tracer, cpu)->committed) - waiting + ahead;
        if (copy_records(tracer, cpu, &position, few, 16).count)
            return few[0].time;
    }
    return 0;
}

static bool reserve(struct stacks_copy *copy, u64 more) {
    if (copy->capacity - copy->size >= more)
        return true;
    u64 capacity = copy->capacity ? 2 * copy->capacity : 1 << 16;
    while (capacity - copy->size < more)
        capacity *= 2;
    u8 *larger = realloc(copy->bytes, capacity);
    if (!larger)
        return false;
    copy->bytes = larger;
    copy->capacity = capacity;
    return true;
}

struct stack_pages {
    const struct trace_stack_page *pages;
    u64 count;
};

static const struct trace_stack_page *page_at(const struct stack_pages *pages, u64 position) {
    return &pages->pages[position / TRACE_STACK_PAGE % pages->count];
}

// Where the first entry begins in the oldest page that is not being overwritten; `end` if there is none.
static u64 oldest_entry(const struct stack_pages *pages, u64 end) {
    u64 kept = (pages->count - 1) * TRACE_STACK_PAGE;
    u64 position = end > kept ? (end - kept + TRACE_STACK_PAGE - 1) / TRACE_STACK_PAGE * TRACE_STACK_PAGE : 0;
    for (; position < end; position += TRACE_STACK_PAGE) {
        u64 first = read_once(&page_at(pages, position)->first);
        if (first / TRACE_STACK_PAGE == position / TRACE_STACK_PAGE)
            return first < end ? first : end;
    }
    return end;
}

int copy_stacks(const struct tracer *tracer, u32 cpu, u64 *position, struct stacks_copy *copy) {
    struct stack_pages pages = {
        (const struct trace_stack_page *)tracer->maps[IN_PAGES].memory + cpu * tracer->settings->stack_pages,
        tracer->settings->stack_pages,
    };
    const u64 capacity = pages.count * TRACE_STACK_PAGE;
    struct trace_cpu *state = tracer_cpu(tracer, cpu);
    u64 end = read_once(&state->stack_committed), at = *position;
    if (end - at > capacity - TRACE_STACK_PAGE) {
        u64 resumed = oldest_entry(&pages, end);
        copy->lost += resumed - at;
        at = resumed;
    }
    while (at < end) {
        const u8 *entry = page_at(&pages, at)->bytes + at % TRACE_STACK_PAGE;
        struct traced_stack head;
        memcpy(&head, entry, sizeof head);
        u64 size = sizeof head + 8 * (u64)head.depth;
        bool sane = head.depth <= TRACE_MAX_FRAMES && at + size <= end;
        if (sane && !reserve(copy, size))
            return ENOMEM;
        if (sane)
            memcpy(copy->bytes + copy->size, entry, size);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        u64 written = read_once(&state->stack_head);
        if (!sane || written - at > capacity - TRACE_STACK_PAGE) {
            // The writer has caught up: go on where it will not be for a while.
            u64 resumed = oldest_entry(&pages, end);
            if (resumed <= at)
                resumed = end;
            copy->lost += resumed - at;
            at = resumed;
            continue;
        }
        copy->size += size;
        at += size;
    }
    *position = at;
    return 0;
}
