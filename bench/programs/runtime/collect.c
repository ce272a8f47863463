// Mark and sweep. Conservative: whatever looks like an address of an allocated block is taken for a reference to it.
#include "runtime.h"

#include <stdlib.h>

enum { MOST_RANGES = 8, MOST_WAITING = 1 << 16 };

struct collections collections;

static struct root_range ranges[MOST_RANGES];
static int range_count;
static uint8_t *waiting[MOST_WAITING]; // marked blocks whose words were not looked at yet

void add_roots(void *words, size_t bytes) {
    if (range_count == MOST_RANGES) {
        abort();
    }
    ranges[range_count++] = (struct root_range){words, bytes / sizeof(uintptr_t)};
}

static void mark(const uintptr_t *words, size_t count) {
    size_t depth = 0;
    while (words) {
        for (size_t i = 0; i < count; i++) {
            uint8_t *address = (uint8_t *)words[i]; // NOLINT: that is what conservative means
            if (address < heap.start || address >= heap.used) {
                continue;
            }
            struct span *span = span_of(address);
            uint32_t index = block_index(span, address);
            uint8_t bits = block_bits(span, index);
            if (!(bits & BLOCK_ALLOCATED) || (bits & BLOCK_MARKED)) {
                continue;
            }
            set_block_bits(span, index, bits | BLOCK_MARKED);
            collections.marked++;
            if (!(bits & BLOCK_FLAT)) {
                waiting[depth++] = span->start + (size_t)index * span->block_bytes;
            }
            if (depth > collections.deepest) {
                collections.deepest = depth;
            }
        }
        if (depth == 0) {
            break;
        }
        uint8_t *block = waiting[--depth];
        words = (const uintptr_t *)block;
        count = span_of(block)->block_bytes / sizeof(uintptr_t);
    }
}

static void sweep_span(struct span *span) {
    for (uint32_t index = 0; index < span->block_count; index++) {
        uint8_t bits = block_bits(span, index);
        if (!(bits & BLOCK_ALLOCATED)) {
            continue;
        }
        if (bits & BLOCK_MARKED) {
            set_block_bits(span, index, bits & ~BLOCK_MARKED);
            continue;
        }
        set_block_bits(span, index, 0);
        heap_give_back(span, span->start + (size_t)index * span->block_bytes);
        heap_size -= span->block_bytes;
        collections.freed++;
    }
}

static void sweep(void) {
    for (uint8_t *start = heap.start; start < heap.used; start += SPAN_BYTES) {
        sweep_span(span_of(start));
    }
}

void collect_garbage(struct journal *journal) {
    journal_write(journal, JOURNAL_NOTICE, collections.count, "collector", "before", heap_size);
    for (int number = 0; number < range_count; number++) {
        mark(ranges[number].words, ranges[number].count);
    }
    sweep();
    heap.since_collection = 0;
    collections.count++;
    journal_write(journal, JOURNAL_NOTICE, collections.count, "collector", "after", heap_size);
}
