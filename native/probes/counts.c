// Counts calls, entries and loop iterations of a running program, by plans that were made beforehand.
//
// Preloaded. WHYPERF_COUNTS_PLANS names the folder with BUILDID.plan, WHYPERF_COUNTS_OUT the one for counters. A module
// gets its stubs before any of its code runs: at start, because the dynamic linker initialises this library first
// (-z initfirst), and when a library was loaded. Whatever cannot be counted is left as it is, with the reason noted.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "probes/counters.h"
#include "probes/environment.h"
#include "probes/increments.h"
#include "probes/install.h"
#include "probes/memory.h"
#include "probes/sandbox.h"
#include "probes/threads.h"

static const char plans_variable[] = "WHYPERF_COUNTS_PLANS=", out_variable[] = "WHYPERF_COUNTS_OUT=";

// A module with stubs.
struct counted {
    struct plan plan; // header is NULL: a free row
    struct installed installed;
    struct counters_module *row; // in the file
    bool seen;                   // it is still loaded
};

static struct {
    pthread_mutex_t lock;
    char plans[PATH_MAX];
    struct counted modules[COUNTERS_MODULES];
} counts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set_increments(const struct plan *plan, const struct installed *where, uint8_t *stubs, void *context) {
    const struct counted *counted = context;
    bool per_thread = counters_mode() == COUNTERS_PER_THREAD;
    for (uint32_t i = 0; i < plan->header->increments; i++) {
        const struct plan_increment *increment = &plan->increments[i];
        uint32_t offset = increment->counter * (uint32_t)sizeof(uint64_t);
        if (per_thread)
            increment_per_thread(stubs + increment->at, counted->row->first + offset);
        else
            increment_locked(stubs + increment->at, where->stubs + increment->at, where->data + offset);
    }
}

static enum probes_reason count_module(const struct module *module, struct counted *counted) {
    const struct plan_header *header = counted->plan.header;
    bool per_thread = counters_mode() == COUNTERS_PER_THREAD;
    if (header->flags & PLAN_HAS_TRAPS)
        return PROBES_PLAN_DAMAGED;
    if (per_thread ? header->flags & PLAN_TAKES_REGISTER : !increments_can_lock())
        return PROBES_TAKES_REGISTER;
    enum probes_reason reason = install_check(&counted->plan, module);
    if (!reason)
        reason = counters_reserve(counted->row, header->counters);
    size_t near_bytes = per_thread ? 0 : header->counters * sizeof(uint64_t);
    if (!reason)
        reason = install_reserve(&counted->plan, module, near_bytes, &counted->installed);
    if (!reason && near_bytes && !counters_map_at(counted->row, counted->installed.data))
        reason = PROBES_NO_DISK;
    if (!reason)
        reason = install_stubs(&counted->plan, &counted->installed, set_increments, counted);
    if (!reason && (reason = install_patches(&counted->plan, &counted->installed)))
        counted->installed.stubs = NULL; // kept: should the old code not be back either, it leads there
    return reason;
}

static void release(struct counted *counted) {
    install_release(&counted->installed);
    plan_close(&counted->plan);
}

static struct counted *counted_at(const struct module *module) {
    for (struct counted *one = counts.modules; one < counts.modules + COUNTERS_MODULES; one++)
        if (one->plan.header && one->installed.bias == module->bias && module->build_id_bytes &&
            one->row->build_id_bytes == module->build_id_bytes &&
            !memcmp(one->row->build_id, module->build_id, module->build_id_bytes))
            return one;
    return NULL;
}

static struct counted *free_row(void) {
    for (struct counted *one = counts.modules; one < counts.modules + COUNTERS_MODULES; one++)
        if (!one->plan.header)
            return one;
    return NULL;
}

static void look_at_new(const struct module *module, struct counters_module *row, struct counted *counted) {
    enum probes_reason reason = plan_open(counts.plans, module->build_id, module->build_id_bytes, &counted->plan);
    if (!reason && row->counters && row->plan_checksum != counted->plan.header->checksum) {
        reason = PROBES_PLAN_DAMAGED; // replaced since the module was counted by another one
    } else if (!reason) {
        counted->row = row;
        counted->seen = true;
        row->plan_checksum = counted->plan.header->checksum;
        reason = count_module(module, counted);
    }
    if (reason)
        release(counted);
    row->reason = reason;
}

static void look_at(const struct module *module, void *context) {
    (void)context;
    struct counted *known = counted_at(module);
    if (known && install_is_in_effect(&known->plan, &known->installed)) {
        known->seen = true;
        return;
    }
    if (known) // unloaded, and loaded again to the same place
        release(known);
    struct counters_module *row = module_is_linker_or_vdso(module) ? NULL : counters_row(module);
    struct counted *counted = row ? free_row() : NULL;
    if (counted && (!row->reason || row->reason == PROBES_NO_PLAN))
        look_at_new(module, row, counted);
}

// Stubs of what was unloaded serve nobody.
static void forget_unloaded(void) {
    for (struct counted *one = counts.modules; one < counts.modules + COUNTERS_MODULES; one++)
        if (one->plan.header && !one->seen)
            release(one);
}

static void look(void) {
    int saved_errno = errno;
    pthread_mutex_lock(&counts.lock);
    if (counters_are_open() && sandbox_forbids_system_calls()) {
        counters_note_unwatched();
    } else if (counters_are_open()) {
        for (struct counted *one = counts.modules; one < counts.modules + COUNTERS_MODULES; one++)
            one->seen = false;
        modules_walk(look_at, NULL);
        forget_unloaded();
    }
    pthread_mutex_unlock(&counts.lock);
    errno = saved_errno;
}

static void before_fork(void) {
    pthread_mutex_lock(&counts.lock);
    counters_before_fork();
}

static void after_fork_in_parent(void) {
    counters_after_fork_in_parent();
    pthread_mutex_unlock(&counts.lock);
}

static void map_counters_of_child(struct counted *one) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (!counters_are_open() || !counters_map_at(one->row, one->installed.data))
        mmap(one->installed.data, one->installed.data_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

static void after_fork_in_child(void) {
    int saved_errno = errno;
    const struct counters_module *parents_rows = counters_rows();
    counters_after_fork_in_child();
    for (struct counted *one = counts.modules; one < counts.modules + COUNTERS_MODULES; one++)
        if (one->plan.header) {
            one->row = counters_are_open() ? counters_rows() + (one->row - parents_rows) : NULL;
            if (one->installed.data_bytes && !sandbox_forbids_system_calls())
                map_counters_of_child(one);
        }
    counts.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    errno = saved_errno;
}

static const struct threads_events events = {
    .creators_block = thread_block,
    .thread_begins = counters_begin_thread,
    .before_fork = before_fork,
    .after_fork_in_parent = after_fork_in_parent,
    .after_fork_in_child = after_fork_in_child,
};

static void note_use_of_register(const struct module *module, void *is_taken) {
    if (plan_flags(counts.plans, module->build_id, module->build_id_bytes) & PLAN_TAKES_REGISTER)
        *(bool *)is_taken = true;
}

static bool threads_run_already(void) {
    const char *single = dlsym(RTLD_DEFAULT, "__libc_single_threaded"); // since glibc 2.32
    return single && !*single;
}

// The environment comes as an argument: libc itself is initialised after us.
__attribute__((constructor)) static void start(int argument_count, char **arguments, char **environment) {
    (void)argument_count, (void)arguments;
    const char *plans = environment_value(environment, plans_variable),
               *out = environment_value(environment, out_variable);
    if (!plans || !out || strlen(plans) >= sizeof counts.plans || threads_run_already() || !counters_open(out))
        return;
    strcpy(counts.plans, plans);
    bool register_is_taken = false;
    modules_walk(note_use_of_register, &register_is_taken);
    if (register_is_taken)
        counters_count_locked();
    if (!threads_watch(&events))
        return;
    counters_begin_thread(NULL);
    look();
    if (!modules_watch(look))
        counters_note_unwatched();
}
