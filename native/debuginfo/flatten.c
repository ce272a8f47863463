#include "debuginfo/flatten.h"

#include <stdlib.h>

static int compare_ranges(const void *left, const void *right) {
    const struct range *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

// A heap of the ranges open at the sweep's address, the one that shows on top.
struct heap {
    struct column open; // size_t: position in the sorted ranges
    const struct range *ranges;
};

static bool above(const struct heap *heap, size_t a, size_t b) {
    int32_t rank_a = heap->ranges[a].rank, rank_b = heap->ranges[b].rank;
    return rank_a != rank_b ? rank_a > rank_b : a > b;
}

static void heap_push(struct heap *heap, size_t item) {
    *(size_t *)column_add(&heap->open) = item;
    size_t *open = (size_t *)heap->open.items;
    size_t at = heap->open.count - 1;
    for (; at && above(heap, item, open[(at - 1) / 2]); at = (at - 1) / 2)
        open[at] = open[(at - 1) / 2];
    open[at] = item;
}

static void heap_pop(struct heap *heap) {
    size_t *open = (size_t *)heap->open.items;
    size_t item = open[--heap->open.count], at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->open.count)
            break;
        if (child + 1 < heap->open.count && above(heap, open[child + 1], open[child]))
            child++;
        if (!above(heap, open[child], item))
            break;
        open[at] = open[child];
        at = child;
    }
    open[at] = item;
}

static void show(struct column *segments, uint64_t start, int32_t owner) {
    struct segment *last = segments->count ? &COLUMN_AT(segments, struct segment, segments->count - 1) : NULL;
    if (last && last->start == start) {
        last->owner = owner;
        if (segments->count > 1 && last[-1].owner == owner)
            segments->count--;
    } else if (last ? last->owner != owner : owner >= 0) {
        *(struct segment *)column_add(segments) = (struct segment){start, owner};
    }
}

// Shows what is open from `from` on, up to where a new range starts.
static void sweep(struct heap *heap, uint64_t from, uint64_t until, struct column *segments) {
    while (heap->open.count) {
        const struct range *top = &heap->ranges[COLUMN_AT(&heap->open, size_t, 0)];
        if (top->high <= from) {
            heap_pop(heap);
            continue;
        }
        show(segments, from, top->owner);
        if (top->high > until)
            return;
        from = top->high;
        heap_pop(heap);
    }
    show(segments, from, -1);
}

void flatten(struct range *ranges, size_t count, struct column *segments) {
    qsort(ranges, count, sizeof *ranges, compare_ranges);
    struct heap heap = {.open = COLUMN(size_t), .ranges = ranges};
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].low < ranges[i].high)
            heap_push(&heap, i);
        if (i + 1 == count || ranges[i + 1].low != ranges[i].low)
            sweep(&heap, ranges[i].low, i + 1 < count ? ranges[i + 1].low : UINT64_MAX, segments);
    }
    free(heap.open.items);
}
