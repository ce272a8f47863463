// Spans of equal blocks. Pages come from one reservation, so that "is this an address of ours" is two comparisons.
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct heap heap;
size_t heap_size;

void heap_open(uintptr_t base, size_t size) {
    void *wanted = (void *)base; // NOLINT: the caller chooses the layout
    void *got = mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != wanted) {
        perror("runtime: no heap at this address");
        exit(1);
    }
    heap.start = heap.used = got;
    heap.end = heap.start + size;
}

static int class_of(size_t size) {
    int class = 0;
    for (size_t room = SMALLEST_BLOCK; room < size; room *= 2) {
        class++;
    }
    if (class >= SIZE_CLASSES) {
        fprintf(stderr, "runtime: %zu bytes are too many for one block\n", size);
        exit(1);
    }
    return class;
}

struct span *span_of(const void *address) {
    return &heap.spans[((const uint8_t *)address - heap.start) / SPAN_BYTES];
}

uint32_t block_index(const struct span *span, const void *address) {
    return (uint32_t)((const uint8_t *)address - span->start) / span->block_bytes;
}

uint8_t block_bits(const struct span *span, uint32_t index) {
    return span->bits[index];
}

void set_block_bits(struct span *span, uint32_t index, uint8_t bits) {
    span->bits[index] = bits;
}

static void push_free(int class, void *block) {
    *(void **)block = heap.free_blocks[class];
    heap.free_blocks[class] = block;
}

static void new_span(int class) {
    if (heap.used + SPAN_BYTES > heap.end) {
        fprintf(stderr, "runtime: out of memory, %zu bytes in use\n", heap_size);
        exit(1);
    }
    struct span *span = span_of(heap.used);
    span->start = heap.used;
    span->block_bytes = SMALLEST_BLOCK << class;
    span->block_count = SPAN_BYTES / span->block_bytes;
    memset(span->bits, 0, sizeof span->bits);
    heap.used += SPAN_BYTES;
    for (uint32_t number = span->block_count; number-- > 0;) {
        push_free(class, span->start + (size_t)number * span->block_bytes);
    }
}

void *heap_block(size_t size) {
    int class = class_of(size);
    if (!heap.free_blocks[class]) {
        new_span(class);
    }
    void *block = heap.free_blocks[class];
    heap.free_blocks[class] = *(void **)block;
    return block;
}

void heap_give_back(struct span *span, void *block) {
    memset(block, 0, span->block_bytes);
    push_free(class_of(span->block_bytes), block);
}
