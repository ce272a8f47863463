#include "values/replay.h"

#include <string.h>

// Where thread-local variables are is not kept: anywhere else than everything else will do.
static const uint64_t thread_block = 1ull << 62;

struct input {
    const unsigned char *at, *end, *start;
    bool damaged;
};

static const unsigned char *take(struct input *in, size_t size) {
    const unsigned char *taken = in->at;
    if ((size_t)(in->end - in->at) < size) {
        in->damaged = true;
        return NULL;
    }
    in->at += size;
    return taken;
}

static uint64_t take_word(struct input *in) {
    uint64_t word = 0;
    const unsigned char *bytes = take(in, sizeof word);
    if (bytes)
        memcpy(&word, bytes, sizeof word);
    return word;
}

// Pieces that were fetched lie behind the frames, in the order in which frames name them.
struct fetched {
    const unsigned char *at, *end, *failures;
    uint16_t failed, next;
};

static const unsigned char *next_fetched(struct fetched *fetched, uint32_t length, bool *damaged) {
    const unsigned char *bytes = fetched->at;
    if ((size_t)(fetched->end - fetched->at) < length) {
        *damaged = true;
        return NULL;
    }
    fetched->at += length;
    uint16_t number = fetched->next++;
    for (uint16_t i = 0; i < fetched->failed; i++) {
        uint16_t failure;
        memcpy(&failure, fetched->failures + sizeof failure * i, sizeof failure);
        if (failure == number)
            return NULL;
    }
    return bytes;
}

static void replay_items(struct replay *replay, struct input *in, struct fetched *fetched,
                         const struct values_plan *plan, uint32_t count, const struct values_captured_frame *frame) {
    const unsigned char *states = take(in, (count + 3) / 4);
    uint64_t pointer = 0;
    for (uint32_t i = 0; i < count && !in->damaged; i++) {
        const struct values_item *item = &values_items(plan)[i];
        unsigned state = states[i / 4] >> 2 * (i % 4) & 3;
        struct replay_piece piece = {.length = item->length};
        bool known = values_item_address(item, frame, pointer, &piece.address);
        if (state == ITEM_INLINE)
            piece.bytes = take(in, item->length);
        else if (state == ITEM_FETCHED)
            piece.bytes = next_fetched(fetched, item->length, &in->damaged);
        if (item->flags & VALUES_ITEM_LOADS) {
            pointer = 0;
            if (state == ITEM_INLINE && piece.bytes)
                memcpy(&pointer, piece.bytes, sizeof pointer);
        }
        if (!piece.bytes)
            continue;
        if (!known || replay->piece_count == REPLAY_PIECES)
            in->damaged = true;
        else
            replay->pieces[replay->piece_count++] = piece;
    }
}

static void replay_frame(struct replay *replay, struct input *in, struct fetched *fetched,
                         const struct values_place *places, uint32_t place_count, uint64_t *bias) {
    struct values_record_frame head = {0};
    const unsigned char *bytes = take(in, sizeof head);
    if (bytes)
        memcpy(&head, bytes, sizeof head);
    const struct values_place *place = head.depth < place_count ? &places[head.depth] : NULL;
    const struct values_plan *plan = place && place->table ? values_plan_at(place->table, place->address) : NULL;
    // Without the plan it is unknown where the next frame begins.
    if (!plan || head.depth >= REPLAY_FRAMES || (uint64_t)head.registers >> UNWIND_PC || in->damaged) {
        in->damaged = true;
        return;
    }
    struct values_frame *frame = &replay->frames[head.depth];
    replay->flags[head.depth] = head.flags;
    if (head.flags & RECORD_BIAS)
        *bias = take_word(in);
    *frame = (struct values_frame){.table = place->table, .bias = *bias, .thread_block = thread_block};
    frame->cfa_known = head.flags & RECORD_CFA;
    if (frame->cfa_known)
        frame->cfa = take_word(in);
    frame->registers.known = head.registers;
    for (uint32_t left = head.registers; left; left &= left - 1)
        frame->registers.value[__builtin_ctz(left)] = take_word(in);
    frame->registers.value[UNWIND_PC] = *bias + place->address + (head.depth > 0); // what it will return to
    if (head.flags & RECORD_VECTORS) {
        for (uint32_t left = plan->vectors; left; left &= left - 1) {
            uint64_t word = take_word(in);
            memcpy(replay->vectors + 16 * __builtin_ctz(left), &word, sizeof word);
        }
        frame->vectors = replay->vectors;
    }
    struct values_captured_frame captured = {.registers = &frame->registers,
                                             .cfa = frame->cfa_known ? &frame->cfa : NULL,
                                             .bias = frame->bias,
                                             .thread_block = thread_block};
    replay_items(replay, in, fetched, plan, plan->slots + (head.flags & RECORD_OTHERS ? plan->others : 0u), &captured);
}

bool replay_record(struct replay *replay, const unsigned char *packed, size_t size, const struct values_place *places,
                   uint32_t place_count) {
    struct values_record_head head;
    if (size < sizeof head)
        return false;
    memcpy(&head, packed, sizeof head);
    size_t failures_at = (size_t)head.fetched_at + head.fetched_bytes;
    if (head.fetched_at < sizeof head || failures_at + head.failed * sizeof(uint16_t) > size)
        return false;
    replay->stack_low = head.stack_low;
    replay->stack_high = head.stack_high;
    replay->piece_count = 0;
    for (int i = 0; i < REPLAY_FRAMES; i++)
        replay->frames[i].table = NULL;
    struct fetched fetched = {.at = packed + head.fetched_at,
                              .end = packed + failures_at,
                              .failures = packed + failures_at,
                              .failed = head.failed};
    struct input in = {.at = packed + sizeof head, .end = packed + head.fetched_at};
    uint64_t bias = 0;
    for (uint16_t i = 0; i < head.frames && !in.damaged; i++)
        replay_frame(replay, &in, &fetched, places, place_count, &bias);
    for (int i = 0; i < REPLAY_FRAMES; i++)
        replay->frames[i].is_last = i + 1 == REPLAY_FRAMES || !replay->frames[i + 1].table;
    return !in.damaged;
}

bool replay_read(void *context, uint64_t address, void *bytes, size_t size) {
    const struct replay *replay = context;
    for (uint32_t i = 0; i < replay->piece_count; i++) {
        const struct replay_piece *piece = &replay->pieces[i];
        uint64_t offset = address - piece->address;
        if (address < piece->address || offset >= piece->length || piece->length - offset < size)
            continue;
        memcpy(bytes, piece->bytes + offset, size);
        return true;
    }
    return false;
}
