// Notes which basic blocks a program enters and which ways its conditional jumps go, and when for the first time, by
// plans that were made beforehand.
//
// Preloaded. WHYPERF_BLOCKS_PLANS names the folder with BUILDID.plan, WHYPERF_BLOCKS_OUT the one for marks. A trap
// stands at the beginning of each block; the first to come by notes the time and puts the instruction back, so that a
// block costs one trap, however often it runs. Where a block can be entered from elsewhere, it does not tell that a
// jump led there: such a jump has a trap of its own, until it went the ways that are asked for or was passed a number
// of times. A module gets its traps before any of its code runs (native/probes/counts.c).
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "blocks/marks.h"
#include "blocks/ways.h"
#include "observation/registers.h"
#include "observation/signals.h"
#include "observation/traced.h"
#include "observation/traps.h"
#include "probes/code.h"
#include "probes/environment.h"
#include "probes/install.h"
#include "probes/memory.h"
#include "probes/sandbox.h"
#include "probes/threads.h"
#include "sampler/raw.h"

static const char plans_variable[] = "WHYPERF_BLOCKS_PLANS=", out_variable[] = "WHYPERF_BLOCKS_OUT=";

enum { MODULES = 256, MOST_HITS = 64, MOST_WAITS = 100 };

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

static _Atomic int32_t handling; // threads that may make system calls

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

// For a process that cannot open its own memory as a file: it has as many files open as it may, or has given up its
// rights. The page stays writable: another thread may be writing to it.
static bool write_through_protection(uintptr_t at, const uint8_t *bytes, size_t size) {
    uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
    if (mprotect((void *)page, whole_pages(at + size - page), PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy((void *)at, bytes, size);
    code_was_written((void *)at, size);
    return true;
}

static bool put_back(const struct noted *noted, const struct plan_patch *patch) {
    uintptr_t at = noted->installed.bias + patch->at;
    uint8_t trap[PLAN_OLD_BYTES];
    install_patched(patch, &noted->installed, trap);
    return memory_overwrite(at, patch->old, trap, trap_bytes) || write_through_protection(at, patch->old, trap_bytes);
}

static void note(_Atomic uint64_t *first, uint64_t time) {
    uint64_t never = 0;
    if (!atomic_load(first))
        atomic_compare_exchange_strong(first, &never, time);
}

static bool all_seen(const struct mark *mark, uint32_t asked) {
    return (!(asked & WAY_TAKEN) || atomic_load(&mark->taken)) && (!(asked & WAY_PASSED) || atomic_load(&mark->passed));
}

// False: the trap cannot be taken out.
static bool noted_and_went_on(const struct noted *noted, const struct plan_patch *patch, uintptr_t at,
                              ucontext_t *context) {
    struct mark *mark = &noted->marks->of[patch - noted->plan.patches];
    struct way way;
    bool is_jump = patch->stub && way_of(patch, at, context, &way);
    uint64_t time = raw_clock_ns(CLOCK_MONOTONIC);
    note(&mark->entered, time);
    if (is_jump)
        note(way.is_taken ? &mark->taken : &mark->passed, time);
    bool stays = is_jump && !all_seen(mark, patch->stub) && atomic_fetch_add(&mark->hits, 1) + 1 < MOST_HITS;
    go_on_at(context, stays ? way.next : at);
    return stays || put_back(noted, patch);
}

// Before a filter for system calls, all traps are taken out.
static bool went_on(const struct noted *noted, const struct plan_patch *patch, uintptr_t at, ucontext_t *context) {
    atomic_fetch_add(&handling, 1);
    bool is_filtered = sandbox_forbids_system_calls();
    if (is_filtered)
        go_on_at(context, at);
    bool done = is_filtered || noted_and_went_on(noted, patch, at, context);
    atomic_fetch_sub(&handling, 1);
    return done;
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
        handled = went_on(one, patch, at, context);
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
    if (!noted->marks || install_patches(&noted->plan, &noted->installed) != PROBES_DONE) {
        if (noted->marks)
            atomic_store(&noted->marks->ended, 1);
        release(noted);
    }
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

static void take_out_all(const struct noted *noted) {
    if (install_restore(&noted->plan, &noted->installed))
        return;
    const struct plan_patch *patches = noted->plan.patches;
    for (uint32_t i = 0; i < noted->plan.header->patches; i++)
        write_through_protection(noted->installed.bias + patches[i].at, patches[i].old, trap_bytes);
}

void traps_begin_in_child(void) {
    atomic_store(&handling, 0);
}

void traps_wait_for_handlers(void) {
    for (int i = 0; i < MOST_WAITS && atomic_load(&handling) > 0; i++)
        syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 1000000}, NULL);
}

// Neither a filter for system calls nor whoever traces the process may meet a trap.
static void leave_alone(void) {
    int saved_errno = errno;
    if (!sandbox_forbids_system_calls()) {
        for (struct noted *one = this.modules; one < this.modules + MODULES; one++)
            if (atomic_load(&one->in)) {
                atomic_store(&one->marks->ended, 1);
                take_out_all(one);
            }
        traps_wait_for_handlers();
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
    traps_begin_in_child();
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
