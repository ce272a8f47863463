#include "latency/latency.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "latency/durations.h"
#include "machine/machine.h"
#include "sampler/plans.h"
#include "sampler/raw.h"
#include "sampler/sampler.h"

static struct durations *durations; // NULL: nothing is timed

// The outermost call that this thread is in.
struct open_call {
    uint64_t stack_pointer, returns_to;
    uint64_t nested;
    uint64_t began; // 0: none
    struct stripe *stripe;
};
static __thread struct open_call open_call;
static _Atomic uint32_t next_stripe;

// Of an address, without what signs it.
static const uint64_t address_bits = (1ull << 48) - 1;

NO_VECTORS static void add(_Atomic uint64_t *count, uint64_t number) {
    atomic_fetch_add_explicit(count, number, memory_order_relaxed);
}

// The call never returned: the stack above it is in use again. What looked like calls within it may have come after it.
NO_VECTORS static void give_up(void) {
    add(&open_call.stripe->lost, 1 + open_call.nested);
    open_call.began = 0;
}

NO_VECTORS void latency_begin(uint64_t stack_pointer, uint64_t returns_to) {
    if (!durations || !clock_counter_readable_in_signal())
        return;
    if (open_call.began && stack_pointer < open_call.stack_pointer) {
        open_call.nested++;
        return;
    }
    if (open_call.began)
        give_up();
    if (!open_call.stripe)
        open_call.stripe = &durations->stripe[atomic_fetch_add(&next_stripe, 1) % STRIPES];
    add(&open_call.stripe->begun, 1);
    open_call.stack_pointer = stack_pointer;
    open_call.returns_to = returns_to;
    open_call.nested = 0;
    open_call.began = machine_ticks();
}

NO_VECTORS static void replace_shortest(struct stripe *stripe, uint64_t ticks, uint64_t began) {
    uint64_t window = atomic_load_explicit(&durations->window, memory_order_relaxed), least = UINT64_MAX;
    struct slow_call *shortest = stripe->slowest;
    for (struct slow_call *one = stripe->slowest; one < stripe->slowest + SLOWEST; one++)
        if (one->began < window)
            atomic_store(&one->ticks, 0);
    for (struct slow_call *one = stripe->slowest; one < stripe->slowest + SLOWEST; one++)
        if (one->ticks < shortest->ticks)
            shortest = one;
    atomic_store(&shortest->ticks, 0);
    shortest->began = began;
    shortest->pid = (uint32_t)this_process.pid;
    shortest->tid = (uint32_t)this_thread.tid;
    atomic_store(&shortest->ticks, ticks);
    for (struct slow_call *one = stripe->slowest; one < stripe->slowest + SLOWEST; one++)
        least = one->ticks < least ? one->ticks : least;
    atomic_store(&stripe->slow_least, least);
}

NO_VECTORS static void remember_if_slow(struct stripe *stripe, uint64_t ticks, uint64_t began) {
    if (ticks <= atomic_load_explicit(&stripe->slow_least, memory_order_relaxed))
        return;
    if (atomic_exchange(&stripe->slow_taken, 1)) {
        add(&stripe->slow_lost, 1);
        return;
    }
    replace_shortest(stripe, ticks, began);
    atomic_store(&stripe->slow_taken, 0);
}

// Exits of functions that it jumps to at its end are looked at as well: only where the stack is as it was when the call
// began, and it returns to the same place, has it ended.
NO_VECTORS void latency_end(uint64_t stack_pointer, uint64_t returns_to) {
    if (!open_call.began || open_call.stack_pointer != stack_pointer ||
        ((open_call.returns_to ^ returns_to) & address_bits) || !clock_counter_readable_in_signal())
        return;
    uint64_t began = open_call.began, ticks = machine_ticks() - began;
    struct stripe *stripe = open_call.stripe;
    add(&stripe->cells[duration_cell(ticks)], 1);
    if (open_call.nested)
        add(&stripe->nested, open_call.nested);
    open_call.began = 0;
    remember_if_slow(stripe, ticks, began);
}

void latency_after_fork(void) {
    open_call.began = 0; // it is the parent's
}

enum slot_kind {
    SLOT_BEGIN = 0, // gets the address of a handler
    SLOT_END = 1,
    SLOT_STUBS = 2, // holds an address in the stubs
};

static uint64_t value_of(const struct plan *plan, const struct plan_increment *slot, uint64_t held,
                         const struct installed *where) {
    (void)plan;
    switch (slot->counter) {
    case SLOT_BEGIN:
        return (uintptr_t)latency_handle_begin;
    case SLOT_END:
        return (uintptr_t)latency_handle_end;
    default:
        return (uintptr_t)where->stubs + held;
    }
}

static void is_put(const struct module *module, const struct loaded_plan *row, enum probes_reason reason) {
    (void)module, (void)row;
    atomic_fetch_add(reason ? &durations->not_patched : &durations->patched, 1);
}

enum { MOST_MODULES = 16 };
static struct loaded_plan rows[MOST_MODULES];
static struct loaded_plans timed = {
    .rows = rows, .most = MOST_MODULES, .check = plan_has_no_traps, .value_of = value_of, .is_put = is_put};

static void look(void) {
    plans_look(&timed);
}

static struct durations *map_durations(void) {
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/durations", timed.folder) >= sizeof path)
        return NULL;
    int fd = raw_open(path, O_RDWR, 0);
    if (fd < 0)
        return NULL;
    struct stat status;
    struct durations *found = MAP_FAILED;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size >= sizeof *found)
        found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    raw_close(fd);
    if (found == MAP_FAILED)
        return NULL;
    if (found->magic == DURATIONS_MAGIC && found->version == DURATIONS_VERSION && found->stripes == STRIPES)
        return found;
    munmap(found, sizeof *found);
    return NULL;
}

void latency_start(void) {
    if (!plans_folder(&timed, "latency") || !(durations = map_durations()))
        return;
    if (!plans_start(look))
        atomic_fetch_add(&durations->not_patched, 1);
}
