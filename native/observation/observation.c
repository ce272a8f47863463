// Records what a running program holds at chosen instructions, and forces values there, by plans that were made
// beforehand.
//
// Preloaded. WHYPERF_OBSERVE_PLANS names the folder with BUILDID.plan and BUILDID.sites, WHYPERF_OBSERVE_OUT the one
// for records. A module gets its traps before any of its code runs, as when calls are counted (native/probes/counts.c).
#include "observation/observation.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "observation/places.h"
#include "observation/record_file.h"
#include "observation/signals.h"
#include "observation/traced.h"
#include "observation/traps.h"
#include "probes/environment.h"
#include "probes/sandbox.h"
#include "probes/threads.h"

static const char plans_variable[] = "WHYPERF_OBSERVE_PLANS=", out_variable[] = "WHYPERF_OBSERVE_OUT=",
                  room_variable[] = "WHYPERF_OBSERVE_ROOM=";

static struct {
    pthread_mutex_t lock;
    char plans[PATH_MAX];
} this = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void look_at(const struct module *module, void *context) {
    (void)context;
    if (module_is_linker_or_vdso(module) || places_are_in(module))
        return;
    record_file_note_module(module, places_put(this.plans, module));
}

void observation_begins_in_child(void) {
    this.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    traps_begin_in_child();
    if (sandbox_forbids_system_calls())
        return;
    if (record_file_after_fork_in_child())
        places_after_fork_in_child();
    else
        places_leave_child();
}

static void begin_if_in_child(void) {
    if (record_file_is_parents())
        observation_begins_in_child();
}

static void look(void) {
    int saved_errno = errno;
    begin_if_in_child();
    pthread_mutex_lock(&this.lock);
    if (sandbox_forbids_system_calls()) {
        atomic_store(&record_file_header()->unwatched, 1);
    } else if (traced_now()) {
        atomic_store(&record_file_header()->traced, 1);
    } else {
        places_begin_look();
        modules_walk(look_at, NULL);
        places_end_look();
    }
    pthread_mutex_unlock(&this.lock);
    errno = saved_errno;
}

static void leave_alone(_Atomic uint32_t *why) {
    atomic_store(why, 1);
    record_file_wait_for_recorder();
    places_disarm_all();
    traps_wait_for_handlers();
}

// A filter may forbid the return from a signal handler.
static void before_sandbox(void) {
    int saved_errno = errno;
    begin_if_in_child();
    if (!sandbox_forbids_system_calls())
        leave_alone(&record_file_header()->sandboxed);
    errno = saved_errno;
}

static void before_traced(void) {
    int saved_errno = errno;
    begin_if_in_child();
    if (!sandbox_forbids_system_calls())
        leave_alone(&record_file_header()->traced);
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
    int saved_errno = errno;
    observation_begins_in_child();
    errno = saved_errno;
}

static const struct threads_events events = {
    .creators_block = no_block,
    .thread_begins = thread_begins,
    .before_fork = before_fork,
    .after_fork_in_parent = after_fork_in_parent,
    .after_fork_in_child = after_fork_in_child,
};

static uint64_t number_in(const char *text) {
    uint64_t number = 0;
    for (; text && *text >= '0' && *text <= '9'; text++)
        number = 10 * number + (uint64_t)(*text - '0');
    return number;
}

// The environment comes as an argument: libc itself is initialised after us.
__attribute__((constructor)) static void start(int argument_count, char **arguments, char **environment) {
    (void)argument_count, (void)arguments;
    const char *plans = environment_value(environment, plans_variable),
               *out = environment_value(environment, out_variable);
    uint64_t room = number_in(environment_value(environment, room_variable));
    if (!plans || !out || strlen(plans) >= sizeof this.plans || !record_file_open(out, room))
        return;
    strcpy(this.plans, plans);
    if (!threads_watch(&events) || !signals_take_trap())
        return;
    sandbox_watch(before_sandbox);
    traced_watch(before_traced);
    look();
    if (!modules_watch(look))
        atomic_store(&record_file_header()->unwatched, 1);
}
