// Notes which basic blocks a program enters, and when for the first time, by plans that were made beforehand.
//
// Preloaded. WHYPERF_BLOCKS_PLANS names the folder with BUILDID.plan, WHYPERF_BLOCKS_OUT the one for marks. A trap
// stands at the beginning of each block; the first to come by notes the time and puts the instruction back, so that a
// block costs one trap, however often it runs. A module gets its traps before any of its code runs
// (native/probes/counts.c).
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "blocks/marks.h"
#include "observation/registers.h"
#include "observation/signals.h"
#include "observation/traced.h"
#include "observation/traps.h"
#include "probes/environment.h"
#include "probes/install.h"
#include "probes/memory.h"
#include "probes/sandbox.h"
#include "probes/threads.h"
#include "sampler/raw.h"

static const char plans_variable[] = "WHYPERF_BLOCKS_PLANS=", out_variable[] = "WHYPERF_BLOCKS_OUT=";

enum { MODULES = 256 };

struct noted {
    _Atomic bool in; // all of the rest is valid, and the module loaded
    bool seen;
    struct plan plan;
    struct installed installed;
    struct marks *marks;
    uintptr_t code_low, code_high;
};

static struct {
    pthread_mutex_t lock;
    char plans[PATH_MAX], out[PATH_MAX];
    struct noted modules[MODULES];
} this = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now(void) {
    return raw_clock_ns(CLOCK_MONOTONIC);
}

static const struct plan_patch *patch_at(const struct plan *plan, uintptr_t at) {
    uint32_t low = 0, high = plan->header->patches;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->patches[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < plan->header->patches && plan->patches[low].at == at ? &plan->patches[low] : NULL;
}

// A program may have as many files open as it may, and then its own memory cannot be opened as one.
static bool write_through_protection(uintptr_t at, const uint8_t *bytes, size_t size) {
    uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
    size_t span = whole_pages(at + size - page);
    if (mprotect((void *)page, span, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy((void *)at, bytes, size);
    __builtin___clear_cache((char *)at, (char *)at + size);
    return mprotect((void *)page, span, PROT_READ | PROT_EXEC) == 0;
}

static bool put_back(const struct noted *noted, const struct plan_patch *patch) {
    uintptr_t at = noted->installed.bias + patch->at;
    uint8_t trap[PLAN_OLD_BYTES];
    install_patched(patch, &noted->installed, trap);
    return memory_overwrite(at, patch->old, trap, trap_bytes) || write_through_protection(at, patch->old, trap_bytes);
}

bool trap_handled(void *context) {
    int saved_errno = errno;
    uintptr_t at = trap_address(context);
    bool handled = false;
    for (struct noted *one = this.modules; one < this.modules + MODULES && !handled; one++) {
        if (!atomic_load(&one->in) || at < one->code_low || at >= one->code_high)
            continue;
        const struct plan_patch *patch = patch_at(&one->plan, at - one->installed.bias);
        if (!patch)
            break;
        // First: what is called next may be the program's own, with traps in it.
        handled = put_back(one, patch);
        uint64_t never = 0;
        atomic_compare_exchange_strong(&one->marks->first[patch - one->plan.patches], &never, now());
        go_on_at(context, at);
    }
    errno = saved_errno;
    return handled;
}

static void release(struct noted *noted) {
    atomic_store(&noted->in, false);
    marks_release(noted->marks);
    plan_close(&noted->plan);
    noted->marks = NULL;
}

static bool is_known(const struct noted *one, const struct module *module) {
    return atomic_load(&one->in) && one->installed.bias == module->bias &&
           one->marks->build_id_bytes == module->build_id_bytes &&
           !memcmp(one->marks->build_id, module->build_id, module->build_id_bytes);
}

static struct noted *free_row(void) {
    for (struct noted *one = this.modules; one < this.modules + MODULES; one++)
        if (!atomic_load(&one->in))
            return one;
    return NULL;
}

static void put_traps(const struct module *module, struct noted *noted) {
    if (plan_open(this.plans, module->build_id, module->build_id_bytes, &noted->plan) != PROBES_DONE)
        return;
    noted->installed = (struct installed){.bias = module->bias};
    noted->code_low = module->code_low;
    noted->code_high = module->code_high;
    noted->seen = true;
    bool fits = install_check(&noted->plan, module) == PROBES_DONE;
    noted->marks = fits ? marks_new(this.out, &noted->plan) : NULL;
    atomic_store(&noted->in, noted->marks != NULL);
    if (!noted->marks || install_patches(&noted->plan, &noted->installed) != PROBES_DONE)
        release(noted);
}

// Unloaded and loaded to the same place again, it has no traps and gets none: its blocks are those noted before.
static void look_at(const struct module *module, void *context) {
    (void)context;
    for (struct noted *one = this.modules; one < this.modules + MODULES; one++)
        if (is_known(one, module)) {
            one->seen = true;
            return;
        }
    struct noted *noted = module_is_linker_or_vdso(module) ? NULL : free_row();
    if (noted)
        put_traps(module, noted);
}

static void look(void) {
    int saved_errno = errno;
    pthread_mutex_lock(&this.lock);
    if (!sandbox_forbids_system_calls() && !traced_now()) {
        for (struct noted *one = this.modules; one < this.modules + MODULES; one++)
            one->seen = false;
        modules_walk(look_at, NULL);
        for (struct noted *one = this.modules; one < this.modules + MODULES; one++)
            if (atomic_load(&one->in) && !one->seen)
                release(one);
    }
    pthread_mutex_unlock(&this.lock);
    errno = saved_errno;
}

// Neither a filter for system calls nor whoever traces the process may meet a trap.
static void leave_alone(void) {
    int saved_errno = errno;
    if (!sandbox_forbids_system_calls())
        for (struct noted *one = this.modules; one < this.modules + MODULES; one++)
            if (atomic_load(&one->in)) {
                atomic_store(&one->marks->ended, 1);
                install_restore(&one->plan, &one->installed);
            }
    errno = saved_errno;
}

static uint8_t *no_block(void) {
    return NULL;
}

static void thread_begins(uint8_t *creators_block) {
    (void)creators_block;
    if (!sandbox_forbids_system_calls())
        signals_begin_thread();
}

static void before_fork(void) {
    pthread_mutex_lock(&this.lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&this.lock);
}

static void after_fork_in_child(void) {
    this.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static const struct threads_events events = {
    .creators_block = no_block,
    .thread_begins = thread_begins,
    .before_fork = before_fork,
    .after_fork_in_parent = after_fork_in_parent,
    .after_fork_in_child = after_fork_in_child,
};

// The environment comes as an argument: libc itself is initialised after us.
__attribute__((constructor)) static void start(int argument_count, char **arguments, char **environment) {
    (void)argument_count, (void)arguments;
    const char *plans = environment_value(environment, plans_variable),
               *out = environment_value(environment, out_variable);
    if (!plans || !out || strlen(plans) >= sizeof this.plans || strlen(out) >= sizeof this.out)
        return;
    strcpy(this.plans, plans);
    strcpy(this.out, out);
    if (!threads_watch(&events) || !signals_take_trap())
        return;
    sandbox_watch(leave_alone);
    traced_watch(leave_alone);
    look();
    modules_watch(look);
}
