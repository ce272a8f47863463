#include "values/capture.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "values/copy.h"

// After a piece that is not there, reading goes on behind it; so many times.
enum { READ_CALLS_MAX = 4 };
// Items of an object are copied together as long as it is no longer than this.
enum { PIECE_BYTES = 512, NOWHERE = UINT16_MAX };

static bool in_own_stack(const struct values_capture *capture, uint64_t address, size_t size) {
    // Compared by subtraction: address + size could wrap around.
    return address >= capture->stack_low && address < capture->stack_high && capture->stack_high - address >= size;
}

static inline void put(struct values_capture *capture, const void *bytes, size_t size) {
    copy_in_signal(capture->record + capture->used, bytes, size);
    capture->used += (uint32_t)size;
}

static void put_word(struct values_capture *capture, uint64_t word) {
    put(capture, &word, sizeof word);
}

void values_capture_begin_in_signal(struct values_capture *capture, uint64_t stack_low, uint64_t stack_high,
                                    bool with_others, bool system_calls_allowed) {
    capture->stack_low = stack_low;
    capture->stack_high = stack_high;
    capture->bias = 0;
    capture->with_others = with_others;
    capture->system_calls_allowed = system_calls_allowed;
    capture->frames = 0;
    capture->used = sizeof(struct values_record_head);
    capture->pieces = capture->piece_bytes = capture->waiting_count = capture->waiting_bytes = 0;
    capture->unreadable = capture->forbidden = 0;
}

// The piece that holds [address, address + length): the latest, grown where it is near; -1 when there is no room.
static int piece_for(struct values_capture *capture, uint64_t address, uint32_t length) {
    struct iovec *last = capture->pieces ? &capture->wanted[capture->pieces - 1] : NULL;
    if (last && address >= (uint64_t)last->iov_base) {
        uint64_t end = address - (uint64_t)last->iov_base + length;
        uint64_t more = end > last->iov_len ? end - last->iov_len : 0;
        if (end <= PIECE_BYTES && more <= VALUES_PIECE_BYTES_MAX - capture->piece_bytes) {
            last->iov_len += more;
            capture->piece_bytes += (uint32_t)more;
            return (int)capture->pieces - 1;
        }
    }
    if (capture->pieces == VALUES_PIECES_MAX || length > VALUES_PIECE_BYTES_MAX - capture->piece_bytes)
        return -1;
    capture->wanted[capture->pieces] = (struct iovec){(void *)address, length};
    capture->piece_bytes += length;
    return (int)capture->pieces++;
}

static enum values_item_state take_item(struct values_capture *capture, const struct values_item *item,
                                        uint64_t address) {
    if (in_own_stack(capture, address, item->length)) {
        put(capture, (const void *)address, item->length);
        return ITEM_INLINE;
    }
    if (!capture->with_others)
        return ITEM_ABSENT;
    // The kernel would refuse all pieces for the sake of one.
    bool is_wild = address >= MACHINE_HIGHEST_ADDRESS - item->length;
    capture->unreadable += is_wild;
    capture->forbidden += !capture->system_calls_allowed;
    if (is_wild || !capture->system_calls_allowed || capture->waiting_count == VALUES_FETCHED_MAX)
        return ITEM_ABSENT;
    int piece = piece_for(capture, address, item->length);
    if (piece < 0)
        return ITEM_ABSENT;
    uint64_t offset = address - (uint64_t)capture->wanted[piece].iov_base;
    capture->waiting[capture->waiting_count++] =
        (struct values_waiting){(uint16_t)piece, (uint16_t)offset, item->length};
    capture->waiting_bytes += item->length;
    return ITEM_FETCHED;
}

static void capture_items(struct values_capture *capture, const struct values_plan *plan, uint32_t count,
                          const struct values_captured_frame *frame) {
    const struct values_item *items = values_items(plan);
    unsigned char *states = capture->record + capture->used;
    uint32_t state_bytes = (count + 3) / 4;
    memset(states, 0, state_bytes);
    capture->used += state_bytes;
    uint64_t pointer = 0, address;
    for (uint32_t i = 0; i < count; i++) {
        const struct values_item *item = &items[i];
        enum values_item_state state =
            values_item_address(item, frame, pointer, &address) ? take_item(capture, item, address) : ITEM_ABSENT;
        states[i / 4] |= (unsigned char)(state << 2 * (i % 4));
        if (item->flags & VALUES_ITEM_LOADS) {
            pointer = 0;
            if (state == ITEM_INLINE)
                memcpy(&pointer, capture->record + capture->used - sizeof pointer, sizeof pointer);
        }
    }
}

// At most so many bytes of a record are its frame, of whose items `bytes` are kept.
static uint32_t most_bytes(uint32_t items, uint32_t bytes) {
    return (uint32_t)sizeof(struct values_record_frame) + 8 * (2 + 32 + 32) + (items + 3) / 4 + bytes;
}

void values_capture_frame_in_signal(struct values_capture *capture, uint8_t depth, uint8_t flags,
                                    const struct values_plan *plan, const struct values_captured_frame *frame) {
    bool with_others = capture->with_others;
    uint32_t items = plan->slots + (with_others ? plan->others : 0u);
    uint32_t behind = capture->waiting_bytes + VALUES_FETCHED_MAX * (uint32_t)sizeof(uint16_t);
    if (capture->used + behind + most_bytes(items, plan->bytes) > VALUES_RECORD_BYTES_MAX)
        return;
    uint32_t registers = plan->registers & (uint32_t)frame->registers->known;
    struct values_record_frame head = {.depth = depth, .registers = registers};
    head.flags = (uint8_t)(flags | (frame->bias != capture->bias ? RECORD_BIAS : 0) | (frame->cfa ? RECORD_CFA : 0) |
                           (frame->vectors && plan->vectors ? RECORD_VECTORS : 0) | (with_others ? RECORD_OTHERS : 0));
    put(capture, &head, sizeof head);
    if (head.flags & RECORD_BIAS)
        put_word(capture, frame->bias);
    if (head.flags & RECORD_CFA)
        put_word(capture, *frame->cfa);
    for (uint32_t left = registers; left; left &= left - 1)
        put_word(capture, frame->registers->value[__builtin_ctz(left)]);
    if (head.flags & RECORD_VECTORS)
        for (uint32_t left = plan->vectors; left; left &= left - 1)
            put(capture, frame->vectors + 16 * __builtin_ctz(left), sizeof(uint64_t));
    capture_items(capture, plan, items, frame);
    capture->bias = frame->bias;
    capture->frames++;
}

size_t values_copy_pieces_in_signal(pid_t pid, const struct iovec *pieces, size_t count, void *to, size_t bytes) {
    struct iovec target = {to, bytes};
    long got = syscall(SYS_process_vm_writev, pid, pieces, count, &target, 1, 0);
    size_t whole = 0;
    for (; whole < count && got >= (long)pieces[whole].iov_len; whole++)
        got -= (long)pieces[whole].iov_len;
    return whole;
}

// Copies all pieces, and notes where each came to lie; those that are not there lie nowhere.
static void fetch_pieces(struct values_capture *capture, pid_t pid, uint16_t *places) {
    uint32_t next = 0, at = 0;
    for (int calls = 0; next < capture->pieces; calls++) {
        uint32_t end = next;
        if (calls < READ_CALLS_MAX)
            end += (uint32_t)values_copy_pieces_in_signal(pid, &capture->wanted[next], capture->pieces - next,
                                                          capture->fetched + at, capture->piece_bytes - at);
        for (; next < capture->pieces && next <= end; next++) {
            places[next] = next < end ? (uint16_t)at : NOWHERE;
            at += (uint32_t)capture->wanted[next].iov_len;
        }
    }
}

// Puts what frames have asked for behind them; how many items were not there.
static uint16_t put_fetched(struct values_capture *capture, const uint16_t *places) {
    uint16_t failures[VALUES_FETCHED_MAX], failed = 0;
    for (uint32_t i = 0; i < capture->waiting_count; i++) {
        struct values_waiting waiting = capture->waiting[i];
        if (places[waiting.piece] == NOWHERE) {
            failures[failed++] = (uint16_t)i;
            capture->used += waiting.length;
        } else {
            put(capture, capture->fetched + places[waiting.piece] + waiting.offset, waiting.length);
        }
    }
    put(capture, failures, failed * sizeof *failures);
    return failed;
}

uint32_t values_capture_end_in_signal(struct values_capture *capture, pid_t pid) {
    if (!capture->frames)
        return 0;
    struct values_record_head head = {.stack_low = capture->stack_low,
                                      .stack_high = capture->stack_high,
                                      .frames = capture->frames,
                                      .fetched_at = (uint16_t)capture->used,
                                      .fetched_bytes = (uint16_t)capture->waiting_bytes};
    if (capture->pieces) {
        uint16_t places[VALUES_PIECES_MAX];
        fetch_pieces(capture, pid, places);
        head.failed = put_fetched(capture, places);
        capture->unreadable += head.failed;
    }
    memcpy(capture->record, &head, sizeof head);
    return capture->used;
}
