// Global and static variables: read now and then, written when they change.
//
// A sample of the stack says nothing about when globals change, and there are many of them: some times a second their
// values are compared with those last written, and what differs goes into the ring. They are never read directly: a
// program may take the access to its own data away.
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "sampler/sampler.h"

enum { MAX_WATCHED = 64, CHANGES_PER_RECORD = 256, RUNS_PER_CALL = 32, BRIDGED_BYTES = 64 };
static const uint64_t look_pause_ns = 125 * 1000 * 1000;

// Neighbours within a page: they are read together, and are there together.
struct run {
    uint64_t address;
    uint32_t length;
    uint32_t at; // where its bytes are in `last` and `now`
    uint32_t first_global, global_count;
    bool missing; // at the latest look
    bool written; // `last` holds what was written
};

static struct watched {
    uint64_t module_start, bias;
    const struct values_table *table;
    struct run *runs;
    uint32_t run_count;
    unsigned char *last, *now;
} watched[MAX_WATCHED];
static _Atomic uint32_t watched_count;
static _Atomic uint64_t next_look;
static _Atomic bool looking;

static const struct values_location *location_of(const struct values_table *table, uint32_t global) {
    return &table->locations[table->globals[global]];
}

static bool joins(const struct run *run, uint64_t address, uint32_t size) {
    uint64_t end = run->address + run->length;
    return address >= run->address && address <= end + BRIDGED_BYTES &&
           (address + size - 1) / PAGE_BYTES == run->address / PAGE_BYTES && run->global_count < CHANGES_PER_RECORD;
}

// The table lists globals by address. Gives the bytes that all runs have.
static uint32_t find_runs(struct watched *module) {
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < module->table->header->global_count; i++) {
        const struct values_location *location = location_of(module->table, i);
        uint64_t address = location->address + module->bias;
        if (location->kind != VALUES_AT_ADDRESS)
            continue;
        struct run *last = module->run_count ? &module->runs[module->run_count - 1] : NULL;
        if (last && last->first_global + last->global_count == i && joins(last, address, location->size)) {
            uint64_t end = address + location->size - last->address;
            bytes += end > last->length ? (uint32_t)end - last->length : 0;
            last->length = end > last->length ? (uint32_t)end : last->length;
            last->global_count++;
            continue;
        }
        module->runs[module->run_count++] =
            (struct run){.address = address, .length = location->size, .at = bytes, .first_global = i, .global_count = 1};
        bytes += location->size;
    }
    return bytes;
}

static void *allocate(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// Only modules that were there when the program started: they are never unloaded, and nothing else takes their place.
void globals_watch_in_signal(uint64_t module_start, uint64_t bias, const struct values_table *table) {
    uint32_t count = atomic_load(&watched_count), globals = table->header->global_count;
    if (count == MAX_WATCHED || !globals || !modules_are_first_in_signal())
        return;
    struct watched *module = &watched[count];
    *module = (struct watched){.module_start = module_start, .bias = bias, .table = table};
    module->runs = allocate(globals * sizeof *module->runs);
    uint32_t bytes = module->runs ? find_runs(module) : 0;
    module->last = bytes ? allocate(2 * (size_t)bytes) : NULL;
    if (!module->last)
        return;
    module->now = module->last + bytes;
    atomic_store(&watched_count, count + 1);
}

// Brings the runs [first, first + count) up to date in `now`.
static void read_runs(struct watched *module, uint32_t first, uint32_t count) {
    struct iovec pieces[RUNS_PER_CALL];
    uint32_t end = first + count;
    for (uint32_t i = 0; i < count; i++) {
        module->runs[first + i].missing = false;
        pieces[i] = (struct iovec){(void *)module->runs[first + i].address, module->runs[first + i].length};
    }
    const struct run *last = &module->runs[end - 1];
    for (uint32_t next = first; next < end; next++) {
        uint32_t at = module->runs[next].at;
        next += (uint32_t)values_copy_pieces_in_signal(this_process.pid, &pieces[next - first], end - next,
                                                       module->now + at, last->at + last->length - at);
        if (next == end)
            return;
        module->runs[next].missing = true;
        this_thread.slot->counters.values_unreadable++;
    }
}

static uint32_t changes_of(const struct watched *module, const struct run *run, struct whyperf_global *changes) {
    const unsigned char *now = module->now + run->at, *last = module->last + run->at;
    uint32_t count = 0;
    if (run->missing || (run->written && memcmp(now, last, run->length) == 0))
        return 0;
    for (uint32_t i = run->first_global; i < run->first_global + run->global_count; i++) {
        const struct values_location *location = location_of(module->table, i);
        uint64_t at = location->address + module->bias - run->address;
        if (run->written && memcmp(now + at, last + at, location->size) == 0)
            continue;
        struct whyperf_global change = {.index = i};
        memcpy(&change.value, now + at, location->size);
        changes[count++] = change;
    }
    return count;
}

static void keep(struct watched *module, struct run *run) {
    if (run->missing)
        return;
    memcpy(module->last + run->at, module->now + run->at, run->length);
    run->written = true;
}

static bool write_changes(const struct watched *module, const struct whyperf_global *changes, uint32_t count,
                          uint64_t time) {
    uint32_t bytes = (uint32_t)(sizeof module->module_start + count * sizeof *changes);
    unsigned char *room = ring_reserve_in_signal(bytes, WHYPERF_RING_RESERVE);
    if (!room)
        return false;
    memcpy(room, &module->module_start, sizeof module->module_start);
    memcpy(room + sizeof module->module_start, changes, count * sizeof *changes);
    ring_commit_in_signal(WHYPERF_RECORD_GLOBALS, count, time, bytes);
    return true;
}

static void look_at(struct watched *module, uint64_t time) {
    struct whyperf_global *changes = (void *)this_thread.memory->walk.capture.record;
    for (uint32_t first = 0; first < module->run_count; first += RUNS_PER_CALL) {
        uint32_t left = module->run_count - first;
        read_runs(module, first, left < RUNS_PER_CALL ? left : RUNS_PER_CALL);
    }
    // A record without changes says that a look was taken.
    for (uint32_t first = 0, next = 0; first < module->run_count; first = next) {
        uint32_t count = 0;
        for (; next < module->run_count && count + module->runs[next].global_count <= CHANGES_PER_RECORD; next++)
            count += changes_of(module, &module->runs[next], &changes[count]);
        if (!write_changes(module, changes, count, time))
            return; // they count as changed the next time
        for (uint32_t i = first; i < next; i++)
            keep(module, &module->runs[i]);
    }
}

void globals_sample_in_signal(uint64_t time) {
    uint32_t count = atomic_load_explicit(&watched_count, memory_order_relaxed);
    if (!count || time < atomic_load_explicit(&next_look, memory_order_relaxed) ||
        atomic_load(&this_process.no_system_calls) || atomic_exchange(&looking, true))
        return;
    for (uint32_t i = 0; i < count; i++)
        look_at(&watched[i], time);
    atomic_store(&next_look, time + look_pause_ns);
    atomic_store(&looking, false);
}

void globals_after_fork(void) {
    atomic_store(&looking, false);
    atomic_store(&next_look, 0);
    uint32_t count = atomic_load(&watched_count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < watched[i].run_count; k++)
            watched[i].runs[k].written = false;
}
