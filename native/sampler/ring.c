// Slots and rings: this thread as a producer.
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/sampler.h"

// Since Linux 5.14; older ones refuse it, and old headers do not know it.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { PREFETCHED_RING_BYTES = 640, UNPOPULATED_SAMPLES = 4 };

static _Atomic bool mapping; // one thread at a time; others do with what there is

// A second, wider mapping of the same pages (an old size of 0 asks for that): pointers into the first stay good, and no
// descriptor is needed, which the program may have closed.
static void map_rings_of(uint32_t slots) {
    if (atomic_exchange(&mapping, true))
        return;
    if (slots > atomic_load(&this_process.mapped_slots)) {
        void *wider = mremap(this_process.session, 0, WHYPERF_BYTES_OF_SLOTS(slots), MREMAP_MAYMOVE);
        if (wider != MAP_FAILED) {
            atomic_store(&this_process.rings, wider);
            atomic_store(&this_process.mapped_slots, slots);
        }
    }
    atomic_store(&mapping, false);
}

void rings_after_fork(void) {
    atomic_store(&mapping, false);
}

static uint32_t usable_slots(void) {
    uint32_t backed = atomic_load(&this_process.session->slots);
    if (backed > WHYPERF_SLOTS)
        backed = WHYPERF_SLOTS;
    if (backed > atomic_load(&this_process.mapped_slots))
        map_rings_of(backed);
    uint32_t mapped = atomic_load(&this_process.mapped_slots);
    return backed < mapped ? backed : mapped;
}

bool slot_take(void) {
    struct whyperf_session *session = this_process.session;
    struct whyperf_slot *slots = whyperf_slots(session);
    uint32_t usable = usable_slots();
    uint32_t start = atomic_load_explicit(&session->slot_hint, memory_order_relaxed);
    for (uint32_t i = 0; i < usable; i++) {
        uint32_t index = (start + i) % usable;
        struct whyperf_slot *slot = &slots[index];
        uint32_t expected = WHYPERF_SLOT_FREE;
        if (!atomic_compare_exchange_strong(&slot->state, &expected, WHYPERF_SLOT_CLAIMED))
            continue;
        slot->pid = (uint32_t)this_process.pid;
        slot->tid = (uint32_t)this_thread.tid;
        slot->start = now_in_signal();
        uint64_t sequence = atomic_fetch_add(&session->next_sequence, 1) + 1;
        atomic_store(&slot->sequence, sequence);
        atomic_store(&slot->state, WHYPERF_SLOT_TAKEN);
        atomic_store_explicit(&session->slot_hint, index, memory_order_relaxed);
        this_thread.sequence = sequence;
        this_thread.slot_index = index;
        this_thread.populated = false;
        this_thread.ring = whyperf_ring(atomic_load(&this_process.rings), index);
        atomic_signal_fence(memory_order_seq_cst);
        this_thread.slot = slot;
        return true;
    }
    atomic_fetch_add(&session->threads_without_slot, 1);
    return false;
}

void slot_release(void) {
    struct whyperf_slot *slot = this_thread.slot;
    if (!slot)
        return;
    this_thread.slot = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load(&slot->sequence) != this_thread.sequence)
        return;
    // A thread that left nothing behind needs no recorder to free its slot: programs may start thousands a second.
    static const struct whyperf_counters nothing;
    bool empty =
        atomic_load(&slot->head) == atomic_load(&slot->tail) && memcmp(&slot->counters, &nothing, sizeof nothing) == 0;
    atomic_store(&slot->state, empty ? WHYPERF_SLOT_FREE : WHYPERF_SLOT_DONE);
}

// The pages behind the ring and the walk, all at once: met one by one, each would cost the handler a page fault. Not
// for threads that are hardly ever seen: there may be thousands.
void memory_populate_in_signal(void) {
    if (this_thread.populated || this_thread.slot->counters.samples < UNPOPULATED_SAMPLES ||
        atomic_load(&this_process.no_system_calls))
        return;
    this_thread.populated = true;
    struct walk_memory *walk = &this_thread.memory->walk;
    syscall(SYS_madvise, this_thread.ring, WHYPERF_RING_BYTES, MADV_POPULATE_WRITE);
    syscall(SYS_madvise, walk, offsetof(struct walk_memory, page), MADV_POPULATE_WRITE);
}

// The lines that the next records go to, and those that count them: asked for before they are needed.
void ring_prefetch_in_signal(void) {
    const char *slot = (const char *)this_thread.slot;
    for (uint32_t i = 0; i < sizeof *this_thread.slot; i += CACHE_LINE)
        __builtin_prefetch(slot + i, 1);
    for (uint32_t i = 0; i < PREFETCHED_RING_BYTES; i += CACHE_LINE)
        __builtin_prefetch(this_thread.ring + (this_thread.head + i) % WHYPERF_RING_BYTES, 1);
}

static uint32_t record_bytes(uint32_t payload_bytes) {
    return ((uint32_t)sizeof(struct whyperf_record) + payload_bytes + 15) & ~15u;
}

// Room for a record's payload, contiguous in the ring; NULL when the ring is too full or is no longer ours.
unsigned char *ring_reserve_in_signal(uint32_t payload_bytes, uint32_t keep_free) {
    struct whyperf_slot *slot = this_thread.slot;
    if (!slot || atomic_load_explicit(&slot->sequence, memory_order_relaxed) != this_thread.sequence)
        return NULL;
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);
    uint64_t used = head - atomic_load_explicit(&slot->tail, memory_order_acquire);
    uint32_t at = (uint32_t)(head % WHYPERF_RING_BYTES);
    uint32_t to_end = WHYPERF_RING_BYTES - at;
    uint32_t bytes = record_bytes(payload_bytes);
    uint32_t pad = bytes > to_end ? to_end : 0;
    if (used > WHYPERF_RING_BYTES || pad + bytes + keep_free > WHYPERF_RING_BYTES - used)
        return NULL;
    if (pad) {
        struct whyperf_record skip = {.kind = WHYPERF_RECORD_PAD, .words = (uint16_t)(pad / 8)};
        memcpy(this_thread.ring + at, &skip, sizeof skip);
        atomic_store_explicit(&slot->head, head + pad, memory_order_release);
        at = 0;
    }
    return this_thread.ring + at + sizeof(struct whyperf_record);
}

void ring_commit_in_signal(uint16_t kind, uint32_t detail, uint64_t time, uint32_t payload_bytes) {
    struct whyperf_slot *slot = this_thread.slot;
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);
    unsigned char *start = this_thread.ring + head % WHYPERF_RING_BYTES;
    uint32_t bytes = record_bytes(payload_bytes);
    uint32_t end = (uint32_t)sizeof(struct whyperf_record) + payload_bytes;
    for (uint32_t i = end; i < bytes; i++)
        start[i] = 0;
    struct whyperf_record record = {.kind = kind, .words = (uint16_t)(bytes / 8), .detail = detail, .time = time};
    memcpy(start, &record, sizeof record);
    this_thread.head = head + bytes;
    atomic_store_explicit(&slot->head, head + bytes, memory_order_release);
}

bool ring_write_in_signal(uint16_t kind, uint32_t detail, const void *payload, uint32_t bytes) {
    unsigned char *room = ring_reserve_in_signal(bytes, 0);
    if (!room) {
        if (this_thread.slot)
            this_thread.slot->counters.records_lost++;
        return false;
    }
    memcpy(room, payload, bytes);
    ring_commit_in_signal(kind, detail, now_in_signal(), bytes);
    return true;
}
