// Threads and forks: every thread that the program starts gets a slot and a timer of its own.
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "latency/latency.h"
#include "sampler/sampler.h"

DECLARE_NEXT(pthread_create);
DECLARE_NEXT(thrd_create);
DECLARE_NEXT(_Fork);

// Thread memory is kept for the next thread: programs may start thousands a second.
enum { KEPT_MEMORIES = 64 };
static _Atomic(struct thread_memory *) kept_memory[KEPT_MEMORIES];

static struct thread_memory *memory_take(void) {
    for (int i = 0; i < KEPT_MEMORIES; i++) {
        struct thread_memory *memory = atomic_exchange(&kept_memory[i], NULL);
        if (memory)
            return memory;
    }
    void *memory = mmap(NULL, sizeof(struct thread_memory), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    mprotect(memory, PAGE_BYTES, PROT_NONE);
    return memory;
}

static void memory_give_back(struct thread_memory *memory) {
    for (int i = 0; i < KEPT_MEMORIES; i++) {
        struct thread_memory *expected = NULL;
        if (atomic_compare_exchange_strong(&kept_memory[i], &expected, memory))
            return;
    }
    munmap(memory, sizeof *memory);
}

// Gives this thread its slot and its memory; samples come once timer_start() is called.
void thread_enroll(uint64_t stack_low, uint64_t stack_high, bool blocks_signal) {
    if (!this_process.session || atomic_load(&this_process.session->stopped))
        return;
    if (atomic_load(&this_process.no_system_calls)) {
        atomic_fetch_add(&this_process.session->threads_without_slot, 1);
        return;
    }
    this_thread.tid = (pid_t)syscall(SYS_gettid);
    this_thread.stack_low = stack_low;
    this_thread.stack_high = stack_high;
    this_thread.in_handler = 0;
    this_thread.random = (uint32_t)this_thread.tid * 2654435761u | 1;
    this_thread.following = (struct following_costs){.chance = UINT16_MAX};
    if (!this_thread.memory)
        this_thread.memory = memory_take();
    if (!this_thread.memory || !slot_take())
        return;
    signals_use_alternate_stack();
    signals_unblock(blocks_signal);
}

static void record_end(void) {
    struct whyperf_thread_end end = {.cpu_ns = thread_cpu_ns_in_signal()};
    prctl(PR_GET_NAME, end.name);
    ring_write_in_signal(WHYPERF_RECORD_THREAD_END, 0, &end, sizeof end);
}

void thread_end(void) {
    if (!this_thread.slot)
        return;
    if (atomic_load(&this_process.no_system_calls)) {
        slot_release();
        return;
    }
    timer_stop();
    if (this_thread.slot->counters.samples)
        record_end();
    slot_release();
    // Who calls exit() in a handler still stands on that memory.
    bool unused = signals_leave_alternate_stack();
    struct thread_memory *memory = this_thread.memory;
    this_thread.memory = NULL;
    if (unused)
        memory_give_back(memory);
}

// What a new thread is to run, from the moment it is asked for to the moment it starts.
struct pending_start {
    _Atomic bool taken;
    void *(*run)(void *);
    int (*run_c11)(void *);
    void *argument;
    uint64_t stack_bytes; // without guard; 0 when unknown
    bool blocks_signal;   // as the thread that asks for it does
};
enum { PENDING_STARTS = 1024 };
static struct pending_start pending_starts[PENDING_STARTS];

static struct pending_start *pending_take(void) {
    for (int i = 0; i < PENDING_STARTS; i++) {
        bool expected = false;
        if (atomic_compare_exchange_strong(&pending_starts[i].taken, &expected, true))
            return &pending_starts[i];
    }
    return NULL;
}

static void end_at_cleanup(void *unused) {
    (void)unused;
    thread_end();
}

// What of a new thread's stack is certainly mapped while it runs.
static uint64_t stack_bytes_of(const pthread_attr_t *attributes) {
    pthread_attr_t defaults;
    size_t bytes = 0, guard = 0;
    if (!attributes && pthread_attr_init(&defaults))
        return 0;
    const pthread_attr_t *from = attributes ? attributes : &defaults;
    if (pthread_attr_getstacksize(from, &bytes) || pthread_attr_getguardsize(from, &guard))
        bytes = 0;
    if (!attributes)
        pthread_attr_destroy(&defaults);
    guard = (guard + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    return bytes > guard ? bytes - guard : 0;
}

// glibc keeps a thread's descriptor, less than a page, at the upper end of its stack.
static void enroll_new_thread(uint64_t stack_bytes, bool blocks_signal) {
    int saved_errno = errno;
    uint64_t high = (uint64_t)pthread_self();
    thread_enroll(stack_bytes > PAGE_BYTES ? high + PAGE_BYTES - stack_bytes : high, high, blocks_signal);
    timer_start();
    errno = saved_errno;
}

static void *run_thread(void *pending) {
    struct pending_start *slot = pending;
    void *(*run)(void *) = slot->run;
    void *argument = slot->argument;
    uint64_t stack_bytes = slot->stack_bytes;
    bool blocks_signal = slot->blocks_signal;
    atomic_store(&slot->taken, false);
    enroll_new_thread(stack_bytes, blocks_signal);
    void *result;
    pthread_cleanup_push(end_at_cleanup, NULL);
    result = run(argument);
    pthread_cleanup_pop(1);
    return result;
}

static int run_c11_thread(void *pending) {
    struct pending_start *slot = pending;
    int (*run)(void *) = slot->run_c11;
    void *argument = slot->argument;
    uint64_t stack_bytes = slot->stack_bytes;
    bool blocks_signal = slot->blocks_signal;
    atomic_store(&slot->taken, false);
    enroll_new_thread(stack_bytes, blocks_signal);
    int result;
    pthread_cleanup_push(end_at_cleanup, NULL);
    result = run(argument);
    pthread_cleanup_pop(1);
    return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    __typeof__(&pthread_create) next = NEXT(pthread_create);
    struct pending_start *pending = this_process.session ? pending_take() : NULL;
    if (!pending)
        return next(thread, attributes, run, argument);
    pending->run = run;
    pending->argument = argument;
    pending->stack_bytes = stack_bytes_of(attributes);
    pending->blocks_signal = this_thread.program_blocks_signal;
    bool blocked = signals_block_for_new_thread();
    int error = next(thread, attributes, run_thread, pending);
    signals_unblock_after_new_thread(blocked);
    if (error)
        atomic_store(&pending->taken, false);
    return error;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *argument) {
    __typeof__(&thrd_create) next = NEXT(thrd_create);
    struct pending_start *pending = this_process.session ? pending_take() : NULL;
    if (!pending)
        return next(thread, run, argument);
    pending->run_c11 = run;
    pending->argument = argument;
    pending->stack_bytes = stack_bytes_of(NULL);
    pending->blocks_signal = this_thread.program_blocks_signal;
    bool blocked = signals_block_for_new_thread();
    int error = next(thread, run_c11_thread, pending);
    signals_unblock_after_new_thread(blocked);
    if (error != thrd_success)
        atomic_store(&pending->taken, false);
    return error;
}

static void begin_forked_child(void) {
    // The parent's slot, timer and event stay the parent's.
    this_thread.slot = NULL;
    this_thread.timer = this_thread.event_fd = -1;
    this_thread.event_page = NULL;
    this_thread.fault_fd = -1;
    this_thread.fault_buffer = NULL;
    latency_after_fork();
    environment_after_fork();
    if (!this_process.session || atomic_load(&this_process.no_system_calls))
        return;
    int saved_errno = errno;
    this_process.pid = (pid_t)syscall(SYS_getpid);
    rings_after_fork();
    timers_after_fork();
    modules_after_fork();
    globals_after_fork();
    page_faults_after_fork();
    for (int i = 0; i < PENDING_STARTS; i++)
        atomic_store(&pending_starts[i].taken, false);
    atomic_fetch_add(&this_process.session->processes_started, 1);
    thread_enroll(this_thread.stack_low, this_thread.stack_high, this_thread.program_blocks_signal);
    record_process(WHYPERF_ORIGIN_FORK, 0, NULL);
    timer_start();
    errno = saved_errno;
}

void threads_watch_forks(void) {
    pthread_atfork(NULL, NULL, begin_forked_child);
}

// Like fork, but without running handlers.
EXPORT pid_t _Fork(void) {
    __typeof__(&_Fork) next = NEXT(_Fork);
    pid_t pid;
    if (next) {
        pid = next();
    } else {
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    }
    if (pid == 0)
        begin_forked_child();
    return pid;
}
