// What a sample keeps so that its variables can be told later: written by capture.c, read by unpack.c.
//
// struct values_record_head; then for each frame that has a plan, innermost first,
//   struct values_record_frame,
//   u64 bias           if it differs from the frame before (the first frame's is 0),
//   u64 cfa            if it is known,
//   u64 registers[]    those of `registers`, which are those of the plan whose value is known,
//   u64 vectors[]      the low halves of the plan's vector registers, if RECORD_VECTORS,
//   2 bits for each of the plan's items, slots only unless RECORD_OTHERS, and the bytes of those that are INLINE;
// then the bytes of all FETCHED items, and a u16 for each of those that could not be read: which of them.
#ifndef WHYPERF_VALUES_RECORD_H
#define WHYPERF_VALUES_RECORD_H

#include "unwind/unwind.h"
#include "values/table.h"

enum {
    VALUES_DEPTH_MAX = 16,
    VALUES_RECORD_BYTES_MAX = 6 * 1024,
    VALUES_FETCHED_MAX = 256, // items
    VALUES_PIECES_MAX = 32,   // of memory, each with several items
    VALUES_PIECE_BYTES_MAX = 4 * 1024,
};

struct values_record_head {
    uint64_t stack_low, stack_high; // the thread's own stack, as far as it was used
    uint16_t frames;
    uint16_t fetched_at; // where the fetched bytes begin
    uint16_t fetched_bytes;
    uint16_t failed;
};

enum {
    RECORD_BIAS = 1,
    RECORD_CFA = 2,
    RECORD_VECTORS = 4,
    RECORD_OTHERS = 8,
    RECORD_CALLER_ONLY = 16, // there for the sake of entry values; its own variables are not wanted
};

struct values_record_frame {
    uint8_t depth, flags;
    uint16_t padding;
    uint32_t registers;
};

enum values_item_state { ITEM_ABSENT = 0, ITEM_INLINE = 1, ITEM_FETCHED = 2 };

// A frame as far as a plan's items need it.
struct values_captured_frame {
    const struct unwind_registers *registers;
    const uint64_t *cfa; // NULL: unknown
    uint64_t bias;
    uint64_t thread_block;        // 0: unknown
    const unsigned char *vectors; // vector registers, 16 bytes each; NULL in callers
};

// Nothing is read behind a null pointer, nor behind what is close to one.
enum { VALUES_LOWEST_POINTER = 4096 };

// Where an item is; false when that is not known. `pointer` is what the latest item with ITEM_LOADS held.
static inline bool values_item_address(const struct values_item *item, const struct values_captured_frame *frame,
                                       uint64_t pointer, uint64_t *address) {
    uint64_t offset = (uint64_t)(int64_t)item->offset;
    switch (item->base) {
    case VALUES_BASE_CFA:
        *address = (frame->cfa ? *frame->cfa : 0) + offset;
        return frame->cfa != NULL;
    case VALUES_BASE_TLS:
        *address = frame->thread_block + offset;
        return frame->thread_block != 0;
    case VALUES_BASE_BIAS:
        *address = frame->bias + (uint32_t)item->offset;
        return true;
    case VALUES_BASE_POINTER:
        *address = pointer + offset;
        return pointer >= VALUES_LOWEST_POINTER;
    default:
        *address = frame->registers->value[item->base] + offset;
        return (frame->registers->known >> item->base & 1) &&
               frame->registers->value[item->base] >= VALUES_LOWEST_POINTER;
    }
}

#endif
