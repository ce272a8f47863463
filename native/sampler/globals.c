// Global and static variables: read now and then, written when they change.
//
// A sample of the stack says nothing about when globals change, and there are many of them: every few samples of the
// process their values are compared with those last written, and what differs goes into the ring. They are never read
// directly: a program may take the access to its own data away.
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "sampler/sampler.h"

enum { MAX_WATCHED = 64, CHANGES_PER_RECORD = 256, RUNS_PER_CALL = 32, BRIDGED_BYTES = 256, SAMPLES_PER_LOOK = 64 };
// The first look at a large program finds more than a ring holds: samples must not be dropped for that.
enum { LEFT_TO_SAMPLES = WHYPERF_RING_RESERVE + WHYPERF_RING_BYTES / 4 };

// Neighbours within a page: they are read together, and are there together.
struct run {
    uint64_t address;
    uint32_t length;
    uint32_t at; // where its bytes are in `last` and `now`
    uint32_t first_global, global_count;
    bool missing; // at the latest look
    bool written; // `last` holds what was written
};

// A global within its run; the table itself would be far too much to read through.
struct member {
    uint16_t at;
    uint16_t size;
};

static struct watched {
    uint64_t module_start;
    struct run *runs;
    uint32_t run_count;
    struct member *members; // by global
    unsigned char *last, *now;
    _Atomic bool gone;
} watched[MAX_WATCHED];
static _Atomic uint32_t watched_count;
static _Atomic uint32_t samples;
static _Atomic bool looking;

static bool joins(const struct run *run, uint64_t address, uint32_t size) {
    uint64_t end = run->address + run->length;
    return address >= run->address && address <= end + BRIDGED_BYTES &&
           (address + size - 1) / PAGE_BYTES == run->address / PAGE_BYTES && run->global_count < CHANGES_PER_RECORD;
}

// The table lists globals by address. Gives the bytes that all runs have.
static uint32_t find_runs(struct watched *module, const struct values_table *table, uint64_t bias) {
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < table->header->global_count; i++) {
        if (table->globals[i] >= table->header->location_count)
            continue;
        const struct values_location *location = &table->locations[table->globals[i]];
        uint64_t address = location->address + bias;
        if (location->kind != VALUES_AT_ADDRESS || location->size > sizeof(uint64_t))
            continue;
        struct run *run = module->run_count ? &module->runs[module->run_count - 1] : NULL;
        if (!run || run->first_global + run->global_count != i || !joins(run, address, location->size)) {
            run = &module->runs[module->run_count++];
            *run = (struct run){.address = address, .at = bytes, .first_global = i};
        }
        uint32_t at = (uint32_t)(address - run->address), end = at + location->size;
        module->members[i] = (struct member){(uint16_t)at, location->size};
        run->global_count++;
        if (end > run->length) {
            bytes += end - run->length;
            run->length = end;
        }
    }
    return bytes;
}

static void *allocate(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void globals_watch_in_signal(uint64_t module_start, uint64_t bias, const struct values_table *table) {
    uint32_t count = atomic_load(&watched_count), globals = table->header->global_count;
    if (count == MAX_WATCHED || !globals)
        return;
    struct watched *module = &watched[count];
    module->module_start = module_start;
    module->run_count = 0;
    module->runs = allocate(globals * (sizeof *module->runs + sizeof *module->members));
    if (!module->runs)
        return;
    module->members = (struct member *)&module->runs[globals];
    uint32_t bytes = find_runs(module, table, bias);
    module->last = bytes ? allocate(2 * (size_t)bytes) : NULL;
    if (!module->last)
        return;
    module->now = module->last + bytes;
    atomic_store(&watched_count, count + 1);
}

// Something else may take its place.
void globals_forget_in_signal(uint64_t start, uint64_t end) {
    uint32_t count = atomic_load(&watched_count);
    for (uint32_t i = 0; i < count; i++)
        if (watched[i].module_start >= start && watched[i].module_start < end)
            atomic_store(&watched[i].gone, true);
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
        struct member member = module->members[i];
        struct whyperf_global change = {.index = i};
        uint64_t before = 0;
        memcpy(&change.value, now + member.at, member.size);
        memcpy(&before, last + member.at, member.size);
        if (!run->written || change.value != before)
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
    unsigned char *room = ring_reserve_in_signal(bytes, LEFT_TO_SAMPLES);
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

// At first more often: a program may be short.
static bool is_time_to_look(void) {
    uint32_t number = atomic_fetch_add_explicit(&samples, 1, memory_order_relaxed);
    return number % SAMPLES_PER_LOOK == 0 || number == 1 || number == 4 || number == 16;
}

void globals_sample_in_signal(uint64_t time) {
    uint32_t count = atomic_load_explicit(&watched_count, memory_order_relaxed);
    if (!count || !is_time_to_look() || !memory_can_be_copied_in_signal() || atomic_exchange(&looking, true))
        return;
    for (uint32_t i = 0; i < count; i++)
        if (!atomic_load_explicit(&watched[i].gone, memory_order_relaxed))
            look_at(&watched[i], time);
    atomic_store(&looking, false);
}

void globals_after_fork(void) {
    atomic_store(&looking, false);
    atomic_store(&samples, 0);
    uint32_t count = atomic_load(&watched_count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < watched[i].run_count; k++)
            watched[i].runs[k].written = false;
}
