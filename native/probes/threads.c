#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <threads.h>

#include "interposed/next.h"
#include "probes/memory.h"
#include "probes/threads.h"

static const struct threads_events *watching;

DECLARE_NEXT(pthread_create);
DECLARE_NEXT(thrd_create);
DECLARE_NEXT(_Fork);

// What a new thread is to run, from the moment it is asked for to the moment it starts. Not from malloc, which is the
// program's.
struct start {
    _Atomic bool taken;
    bool mapped; // by itself, because all others were taken
    void *(*run)(void *);
    int (*run_c11)(void *);
    void *argument;
    uint8_t *creators_block;
    sigset_t creators, blocked; // signals that the creator had blocked, and that it blocked for us
};
enum { STARTS = 256 };
static struct start starts[STARTS];

static struct start *start_take(void) {
    for (int i = 0; i < STARTS; i++) {
        bool expected = false;
        if (atomic_compare_exchange_strong(&starts[i].taken, &expected, true))
            return &starts[i];
    }
    struct start *start = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    start->mapped = true;
    return start;
}

static void start_give_back(struct start *start) {
    if (start->mapped)
        munmap(start, PAGE);
    else
        atomic_store(&start->taken, false);
}

// Until the thread has counters of its own no handler may run in it: it would count in its creator's.
static void prepare(struct start *start) {
    sigset_t all;
    start->creators_block = watching->creators_block();
    sigfillset(&all);
    memset(&start->blocked, 0, sizeof start->blocked);
    pthread_sigmask(SIG_SETMASK, &all, &start->creators);
    pthread_sigmask(SIG_SETMASK, NULL, &start->blocked);
}

static void unblock_signals(const struct start *start) {
    sigset_t now;
    memset(&now, 0, sizeof now); // the kernel fills in only what it has
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    // Another mask is one that the thread's attributes asked for.
    if (!memcmp(&now, &start->blocked, sizeof now))
        pthread_sigmask(SIG_SETMASK, &start->creators, NULL);
}

static struct start begun(void *given) {
    struct start start = *(struct start *)given;
    start_give_back(given);
    watching->thread_begins(start.creators_block);
    unblock_signals(&start);
    return start;
}

static void *begin(void *given) {
    struct start start = begun(given);
    return start.run(start.argument);
}

static int begin_c11(void *given) {
    struct start start = begun(given);
    return start.run_c11(start.argument);
}

static void after_create(struct start *start, const sigset_t *creators, bool failed) {
    if (failed)
        start_give_back(start);
    pthread_sigmask(SIG_SETMASK, creators, NULL);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    struct start *start = watching ? start_take() : NULL;
    if (!start)
        return NEXT(pthread_create)(thread, attributes, run, argument);
    start->run = run;
    start->argument = argument;
    prepare(start);
    sigset_t creators = start->creators;
    int result = NEXT(pthread_create)(thread, attributes, begin, start);
    after_create(start, &creators, result != 0);
    return result;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *argument) {
    struct start *start = watching ? start_take() : NULL;
    if (!start)
        return NEXT(thrd_create)(thread, run, argument);
    start->run_c11 = run;
    start->argument = argument;
    prepare(start);
    sigset_t creators = start->creators;
    int result = NEXT(thrd_create)(thread, begin_c11, start);
    after_create(start, &creators, result != thrd_success);
    return result;
}

// fork() runs what pthread_atfork() was given; this one does not.
EXPORT pid_t _Fork(void) {
    if (!watching)
        return NEXT(_Fork)();
    watching->before_fork();
    pid_t child = NEXT(_Fork)();
    if (child == 0)
        watching->after_fork_in_child();
    else
        watching->after_fork_in_parent();
    return child;
}

bool threads_watch(const struct threads_events *events) {
    watching = events;
    return pthread_atfork(events->before_fork, events->after_fork_in_parent, events->after_fork_in_child) == 0;
}
