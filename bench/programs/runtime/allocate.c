// What the language's `new` becomes.
#include "runtime.h"

#include <string.h>

void *rt_malloc(size_t size, bool flat) {
    void *block = heap_block(size);
    struct span *span = span_of(block);
    heap_size += span->block_bytes;
    heap.since_collection += span->block_bytes;
    uint32_t index = block_index(span, block);
    uint8_t bits = block_bits(span, index);
    bits = (uint8_t)((bits & ~BLOCK_MARKED) | BLOCK_ALLOCATED | (flat ? BLOCK_FLAT : 0));
    set_block_bits(span, index, bits);
    memset(block, 0, span->block_bytes);
    return block;
}
