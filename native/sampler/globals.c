// Global and static variables: read now and then, written when they change.
//
// A sample of the stack says nothing about when globals change, and there are many of them: every few samples of the
// process their values are compared with those last written, and what differs goes into the ring.
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "sampler/sampler.h"

enum { SAMPLES_PER_LOOK = 16, MAX_WATCHED = 64, CHANGES_PER_RECORD = 400 };

static struct watched {
    uint64_t module_start, bias;
    const struct values_table *table;
    uint64_t *last; // by global
    bool *readable; // found to be mapped when first seen; a module that is unloaded is not watched
    bool written;   // `last` has been written once
} watched[MAX_WATCHED];
static _Atomic uint32_t watched_count;
static _Atomic uint32_t samples;
static _Atomic bool looking;

static uint64_t address_of(const struct watched *module, uint32_t global) {
    return module->table->locations[module->table->globals[global]].address + module->bias;
}

static uint8_t size_of(const struct watched *module, uint32_t global) {
    return module->table->locations[module->table->globals[global]].size;
}

static bool is_mapped(uint64_t address, size_t size) {
    uint64_t value;
    struct iovec local = {&value, size}, remote = {(void *)address, size};
    return syscall(SYS_process_vm_readv, this_process.pid, &local, 1, &remote, 1, 0) == (long)size;
}

// Only modules that were there when the program started: they are never unloaded, so that what was mapped stays so.
void globals_watch_in_signal(uint64_t module_start, uint64_t bias, const struct values_table *table) {
    uint32_t count = atomic_load(&watched_count), globals = table->header->global_count;
    if (count == MAX_WATCHED || !globals || !modules_are_first_in_signal())
        return;
    void *memory = mmap(NULL, globals * (sizeof(uint64_t) + sizeof(bool)), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    struct watched *module = &watched[count];
    *module = (struct watched){.module_start = module_start, .bias = bias, .table = table, .last = memory};
    module->readable = (bool *)&module->last[globals];
    for (uint32_t i = 0; i < globals; i++)
        module->readable[i] = table->locations[table->globals[i]].kind == VALUES_AT_ADDRESS &&
                              is_mapped(address_of(module, i), size_of(module, i));
    atomic_store(&watched_count, count + 1);
}

static void write_changes(struct watched *module) {
    struct whyperf_global *changes = (void *)this_thread.memory->packed_values;
    uint32_t globals = module->table->header->global_count;
    // A record without changes says that a look was taken.
    bool anything = false;
    for (uint32_t i = 0; i < globals || !anything;) {
        uint32_t count = 0, first = i;
        for (; i < globals && count < CHANGES_PER_RECORD; i++) {
            if (!module->readable[i])
                continue;
            uint64_t value = 0;
            memcpy(&value, (const void *)address_of(module, i), size_of(module, i));
            if (!module->written || value != module->last[i])
                changes[count++] = (struct whyperf_global){.index = i, .value = value};
        }
        uint32_t bytes = (uint32_t)(sizeof(uint64_t) + count * sizeof *changes);
        unsigned char *room = ring_reserve_in_signal(bytes, WHYPERF_RING_RESERVE);
        if (!room)
            return; // `last` stays: they count as changed the next time
        memcpy(room, &module->module_start, sizeof module->module_start);
        memcpy(room + sizeof module->module_start, changes, count * sizeof *changes);
        ring_commit_in_signal(WHYPERF_RECORD_GLOBALS, count, now_in_signal(), bytes);
        for (uint32_t k = 0; k < count; k++)
            module->last[changes[k].index] = changes[k].value;
        anything = true;
        if (i == first)
            break;
    }
    module->written = true;
}

void globals_sample_in_signal(void) {
    uint32_t count = atomic_load(&watched_count);
    if (!count || atomic_fetch_add(&samples, 1) % SAMPLES_PER_LOOK || atomic_exchange(&looking, true))
        return;
    for (uint32_t i = 0; i < count; i++)
        write_changes(&watched[i]);
    atomic_store(&looking, false);
}

void globals_after_fork(void) {
    atomic_store(&looking, false);
    atomic_store(&samples, 0);
    for (uint32_t i = 0; i < atomic_load(&watched_count); i++)
        watched[i].written = false;
}
