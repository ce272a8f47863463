// Giving slots back, and adding up what their owners counted.
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/drain.h"

static void add_counters(struct whyperf_counters *sum, const struct whyperf_counters *more) {
    sum->samples += more->samples;
    sum->weight += more->weight;
    sum->dropped += more->dropped;
    sum->records_lost += more->records_lost;
    sum->busy += more->busy;
    sum->handler_ns += more->handler_ns;
    if (more->handler_ns_max > sum->handler_ns_max)
        sum->handler_ns_max = more->handler_ns_max;
    for (int i = 0; i < WHYPERF_CUT_REASONS; i++)
        sum->cut[i] += more->cut[i];
    sum->overruns += more->overruns;
    sum->values += more->values;
    sum->values_others += more->values_others;
    sum->values_unreadable += more->values_unreadable;
    sum->values_forbidden += more->values_forbidden;
    sum->values_dropped += more->values_dropped;
    for (int i = 0; i < WHYPERF_HANDLER_BUCKETS; i++)
        sum->handler_times[i] += more->handler_times[i];
}

struct whyperf_counters drainer_counters(const struct drainer *drainer) {
    struct whyperf_counters sum = drainer->rings.session->retired;
    const struct whyperf_slot *slots = whyperf_slots(drainer->rings.session);
    for (uint32_t i = 0; i < WHYPERF_SLOTS; i++) {
        uint32_t state = atomic_load_explicit(&slots[i].state, memory_order_acquire);
        if (state == WHYPERF_SLOT_TAKEN || state == WHYPERF_SLOT_DONE)
            add_counters(&sum, &slots[i].counters);
    }
    return sum;
}

static bool thread_is_gone(const struct drainer *drainer, const struct whyperf_slot *slot) {
    if (syscall(SYS_tgkill, (pid_t)slot->pid, (pid_t)slot->tid, 0) != 0 && errno == ESRCH)
        return true;
    // An exec keeps the first thread's number but not the thread.
    const struct living_process *process = living_find(&drainer->living, slot->pid);
    return process && process->exec_sequence > atomic_load(&slot->sequence);
}

static void free_slot(struct whyperf_session *session, struct whyperf_slot *slot) {
    add_counters(&session->retired, &slot->counters);
    memset(&slot->counters, 0, sizeof slot->counters);
    atomic_store(&slot->sequence, 0);
    atomic_store_explicit(&slot->state, WHYPERF_SLOT_FREE, memory_order_release);
}

static void forget_dead_processes(struct living *living) {
    for (size_t i = 0; i < living->count; i++) {
        struct living_process *process = &living->processes[i];
        if (!process->seen)
            process->seen = kill((pid_t)process->owner.pid, 0) == 0 || errno != ESRCH;
    }
    living_forget_unseen(living);
}

size_t drainer_retire(struct drainer *drainer) {
    struct whyperf_session *session = drainer->rings.session;
    struct whyperf_slot *slots = whyperf_slots(session);
    for (size_t i = 0; i < drainer->living.count; i++)
        drainer->living.processes[i].seen = false;
    size_t freed = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < WHYPERF_SLOTS; i++) {
        struct whyperf_slot *slot = &slots[i];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (state == WHYPERF_SLOT_FREE)
            continue;
        taken++;
        bool over = state == WHYPERF_SLOT_DONE || (state == WHYPERF_SLOT_TAKEN && thread_is_gone(drainer, slot));
        // Only now is `head` final, and only a drained ring may be given away.
        if (over && atomic_load(&slot->head) == atomic_load(&slot->tail)) {
            free_slot(session, slot);
            freed++;
            continue;
        }
        struct living_process *process = living_find(&drainer->living, slot->pid);
        if (process)
            process->seen = true;
    }
    forget_dead_processes(&drainer->living);
    rings_back_more(&drainer->rings, taken);
    return freed;
}
