#include "memory/linked.h"

#include <stddef.h>
#include <string.h>

#include "machine/machine.h"
#include "memory/allocations.h"
#include "memory/owned.h"
#include "sampler/plans.h"
#include "sampler/sampler.h"

_Static_assert(sizeof(struct linked_call) == LINKED_CALL_BYTES &&
                   offsetof(struct linked_call, result) == LINKED_RESULT_AT,
               "as in the handlers");

static uint64_t argument(const struct linked_call *call, uint8_t number) {
    return number < LINKED_ARGUMENTS ? call->arguments[number] : 0;
}

static uint64_t arena_of(const struct linked_call *call) {
    const struct linked_hook *hook = call->hook;
    return hook->arena < LINKED_ARGUMENTS ? call->arguments[hook->arena] : hook->allocator;
}

static bool leaves(uint64_t address, struct ending_allocation *ending) {
    if (!address || !live_may_hold(address) || !allocation_leaves(address, ending))
        return false;
    owned_forget(address);
    return true;
}

void linked_before(struct linked_call *call) {
    const struct linked_hook *hook = call->hook;
    uint64_t size = argument(call, hook->size);
    call->bytes = hook->size_bytes == sizeof(uint32_t) ? (uint32_t)size : size;
    if (hook->role == LINKED_ALLOCATE_MANY) {
        if (__builtin_mul_overflow(call->bytes, argument(call, hook->count), &call->bytes))
            call->bytes = 0;
        these_allocations.until_sample -= (int64_t)call->bytes;
    }
    call->is_due = sample_is_due();
    uint64_t old = hook->role == LINKED_REALLOCATE ? argument(call, hook->pointer) : 0;
    call->was_sampled = leaves(old, &call->old);
}

static uint64_t address_of(const struct linked_call *call) {
    if (call->hook->role != LINKED_ALLOCATE_INTO)
        return call->result;
    return (uint32_t)call->result == 0 ? *(const uint64_t *)call->arguments[0] : 0;
}

static void sample(const struct linked_call *call, uint64_t address) {
    const struct linked_hook *hook = call->hook;
    bool has_arena = hook->arena < LINKED_ARGUMENTS || hook->allocator;
    if (allocation_sample((void *)address, call->bytes) && has_arena && !owned_add(arena_of(call), address))
        atomic_fetch_add(&this_process.session->frees_lost, 1);
}

void linked_after(struct linked_call *call) {
    uint64_t address = address_of(call);
    bool failed = !address && call->bytes;
    if (call->was_sampled && (!failed || !allocation_stays(&call->old)))
        allocation_ended(&call->old);
    if (address && call->is_due)
        sample(call, address);
}

void linked_release(struct linked_call *call) {
    if (call->hook->role == LINKED_FREE) {
        if (leaves(argument(call, call->hook->pointer), &call->old))
            allocation_ended(&call->old);
        return;
    }
    uint64_t arena = arena_of(call), address;
    while (atomic_load(&owned_taken[live_bucket(arena)]) && (address = owned_take(arena)))
        if (allocation_leaves(address, &call->old))
            allocation_ended(&call->old);
}

enum { MOST_MODULES = 64 };

enum slot_kind {
    SLOT_ALLOCATION = 0, // gets the address of a handler
    SLOT_RELEASE = 1,
    SLOT_THREAD = 2, // gets the distance from the thread pointer to the bytes until the next sample
    SLOT_LIVE = 3,   // gets the address of a table
    SLOT_OWNED = 4,
    SLOT_STUBS = 5, // holds an address in the stubs
};

static uint64_t value_of(const struct plan *plan, const struct plan_increment *slot, uint64_t held,
                         const struct installed *where) {
    (void)plan;
    switch (slot->counter) {
    case SLOT_ALLOCATION:
        return (uintptr_t)linked_handle_allocation;
    case SLOT_RELEASE:
        return (uintptr_t)linked_handle_release;
    case SLOT_THREAD: {
        uint64_t distance = (uint64_t)((uintptr_t)&these_allocations.until_sample - machine_thread_pointer());
        memcpy(&held, &distance, LINKED_DISTANCE_BYTES);
        return held;
    }
    case SLOT_LIVE:
        return (uintptr_t)live_taken;
    case SLOT_OWNED:
        return (uintptr_t)owned_taken;
    default:
        return (uintptr_t)where->stubs + held;
    }
}

static void is_put(const struct module *module, const struct loaded_plan *row, enum probes_reason reason) {
    (void)module, (void)row;
    if (reason)
        atomic_fetch_add(&this_process.session->modules_not_patched, 1);
}

static struct loaded_plan rows[MOST_MODULES];
static struct loaded_plans linked = {
    .rows = rows, .most = MOST_MODULES, .check = plan_has_no_traps, .value_of = value_of, .is_put = is_put};

static void look(void) {
    plans_look(&linked);
}

void allocators_start(void) {
    if (plans_folder(&linked, "allocators") && !plans_start(look))
        atomic_fetch_add(&this_process.session->modules_not_patched, 1);
}
