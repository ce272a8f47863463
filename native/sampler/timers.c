// What makes a thread's samples: a timer on its own CPU time, or a software cpu-clock event for higher rates.
//
// CPU-time timers never fire while a thread is blocked, so no system call of the program is ever interrupted by us.
// They come at most at the kernel's tick rate; the overrun count carries the rest. They end with their thread, do not
// survive exec, and are not inherited by fork.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/raw.h"
#include "sampler/sampler.h"

char timer_cookie;

// What each slot's owner in this process has running, so that one thread can stop them all.
static _Atomic int timer_of_slot[WHYPERF_SLOTS]; // kernel id + 1
static _Atomic(void *) event_of_slot[WHYPERF_SLOTS];

static uint64_t random_below(uint64_t limit, uint64_t salt) {
    uint64_t x = now_in_signal() ^ ((uint64_t)this_thread.tid << 32) ^ salt;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    x ^= x >> 33;
    return x % limit;
}

static struct timespec as_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

uint64_t thread_cpu_ns_in_signal(void) {
    return raw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// Timer signals come with the kernel's ticks: the latest one tells when the next are due.
static _Atomic uint64_t latest_tick;

void timer_note_tick_in_signal(uint64_t now) {
    atomic_store_explicit(&latest_tick, now, memory_order_relaxed);
}

static uint64_t since_tick(void) {
    struct timespec resolution;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) || resolution.tv_sec || resolution.tv_nsec <= 0)
        return 0;
    uint64_t period = (uint64_t)resolution.tv_nsec, tick = atomic_load_explicit(&latest_tick, memory_order_relaxed);
    return tick ? (now_in_signal() - tick) % period : random_below(period, 1);
}

// A thread enters the timer's periods at a random place, as if the timer had always run: so that threads much shorter
// than a period are seen as often as their share of the time. The kernel notices an expiry only at its next tick;
// one that would have happened since the last tick is therefore still to come.
static bool set_first_expiry(int id) {
    uint64_t since_expiry = random_below(this_process.period_ns, 0);
    uint64_t to_next = this_process.period_ns - since_expiry;
    bool still_to_come = since_expiry < since_tick();
    this_thread.second_expiry = still_to_come ? thread_cpu_ns_in_signal() + to_next : 0;
    struct itimerspec when = {.it_interval = as_timespec(this_process.period_ns),
                              .it_value = as_timespec(still_to_come ? 1 : to_next)};
    return syscall(SYS_timer_settime, id, 0, &when, NULL) == 0;
}

void timer_continue_in_signal(void) {
    if (!this_thread.second_expiry)
        return;
    struct itimerspec when = {.it_interval = as_timespec(this_process.period_ns),
                              .it_value = as_timespec(this_thread.second_expiry)};
    this_thread.second_expiry = 0;
    if (!atomic_load(&this_process.no_system_calls))
        syscall(SYS_timer_settime, this_thread.timer, TIMER_ABSTIME, &when, NULL);
}

static bool start_cpu_timer(void) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SAMPLER_SIGNAL;
    event.sigev_value.sival_ptr = &timer_cookie;
    event._sigev_un._tid = this_thread.tid;
    int id;
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &id))
        return false;
    this_thread.timer = id;
    atomic_store(&timer_of_slot[this_thread.slot_index], id + 1);
    if (set_first_expiry(id))
        return true;
    timer_stop();
    return false;
}

// An event's signal that cannot be queued is sent as SIGIO instead.
bool timers_can_queue_within(rlim_t limit) {
    enum { ENOUGH = 1024 };
    return limit >= ENOUGH;
}

bool timers_can_queue(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_SIGPENDING, &limit) == 0 && timers_can_queue_within(limit.rlim_cur);
}

// The mapping keeps the event alive without its descriptor: the program's descriptor table stays its own, and a program
// that closes everything does not close this.
void *event_signals_this_thread(int fd, size_t bytes) {
    struct f_owner_ex owner = {F_OWNER_TID, this_thread.tid};
    bool ready = fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC) == 0 && fcntl(fd, F_SETSIG, SAMPLER_SIGNAL) == 0 &&
                 fcntl(fd, F_SETOWN_EX, &owner) == 0;
    return ready ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
}

static bool start_clock_event(void) {
    if (!timers_can_queue())
        return false;
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = this_process.period_ns,
        .disabled = 1,
        .wakeup_events = 1,
        // A signal raised inside a system call on its way to sleep would end that call early with EINTR. (CPU-time
        // timers do not have this trouble: the kernel sends their signals on the way back to the program.)
        .exclude_kernel = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return false;
    void *page = event_signals_this_thread(fd, PAGE_BYTES);
    if (page != MAP_FAILED) {
        this_thread.event_page = page;
        this_thread.event_fd = fd;
        atomic_store(&event_of_slot[this_thread.slot_index], page);
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    }
    raw_close(fd);
    return page != MAP_FAILED;
}

void timer_start(void) {
    this_thread.timer = -1;
    this_thread.event_fd = -1;
    this_thread.event_page = NULL;
    this_thread.second_expiry = 0;
    this_thread.periods_per_sample = 1;
    if (atomic_load(&this_process.sampling_forbidden))
        return;
    page_faults_start();
    if (!this_thread.slot)
        return;
    if (this_process.session->use_perf_events && start_clock_event())
        return;
    if (!start_cpu_timer())
        atomic_fetch_add(&this_process.session->threads_without_slot, 1);
}

void timer_stop(void) {
    page_faults_stop();
    if (this_thread.timer >= 0 && atomic_exchange(&timer_of_slot[this_thread.slot_index], 0))
        syscall(SYS_timer_delete, this_thread.timer);
    if (this_thread.event_page && atomic_exchange(&event_of_slot[this_thread.slot_index], NULL))
        munmap(this_thread.event_page, PAGE_BYTES);
    // `event_fd` stays: where our signal is blocked, the event's last one is still to come.
    this_thread.timer = -1;
    this_thread.event_page = NULL;
}

// The event ends with its mapping. What comes instead can be read: a handler may be about to.
bool event_ends(_Atomic(void *) *mapping, size_t bytes) {
    void *event = atomic_exchange(mapping, NULL);
    if (event)
        mmap(event, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return event != NULL;
}

void timers_stop_all(void) {
    page_faults_stop_all();
    for (uint32_t i = 0; i < WHYPERF_SLOTS; i++) {
        int timer = atomic_exchange(&timer_of_slot[i], 0);
        if (timer)
            syscall(SYS_timer_delete, timer - 1);
        event_ends(&event_of_slot[i], PAGE_BYTES);
    }
}

// Before signals can no longer be queued: this thread goes on with a timer, which needs its place in the queue only
// once. The others can start none for themselves, and are counted.
void timers_replace_events(void) {
    atomic_fetch_add(&this_process.session->threads_without_faults, page_faults_stop_all());
    for (uint32_t i = 0; i < WHYPERF_SLOTS; i++) {
        if (!event_ends(&event_of_slot[i], PAGE_BYTES))
            continue;
        bool own = this_thread.slot && i == this_thread.slot_index;
        if (own)
            this_thread.event_page = NULL;
        if (!own || !start_cpu_timer())
            atomic_fetch_add(&this_process.session->threads_limited, 1);
    }
}

// Neither timers nor events pass a fork: what the tables name belongs to the parent.
void timers_after_fork(void) {
    memset(timer_of_slot, 0, sizeof timer_of_slot);
    memset(event_of_slot, 0, sizeof event_of_slot);
}

// A handler that takes a large part of its period would starve the program: sample half as often, each twice as heavy.
void timer_slow_down_in_signal(void) {
    uint64_t period = this_process.period_ns * this_thread.periods_per_sample * 2;
    if (this_thread.timer < 0 || period > 1000000000u || atomic_load(&this_process.no_system_calls))
        return;
    struct itimerspec when = {.it_interval = as_timespec(period), .it_value = as_timespec(period)};
    if (syscall(SYS_timer_settime, this_thread.timer, 0, &when, NULL) == 0)
        this_thread.periods_per_sample *= 2;
}

// That signal does not tell which event it is of.
bool is_unqueued_in_signal(const siginfo_t *info) {
    bool has_event = this_thread.event_fd >= 0 || this_thread.fault_fd >= 0;
    return info->si_signo == SIGIO && info->si_code == SI_KERNEL && this_thread.slot && has_event;
}

bool is_sampling_signal_in_signal(const siginfo_t *info) {
    if (is_unqueued_in_signal(info) || is_page_fault_in_signal(info))
        return true;
    if (info->si_code == SI_TIMER)
        return info->si_value.sival_ptr == &timer_cookie;
    bool from_descriptor = info->si_code >= POLL_IN && info->si_code <= POLL_HUP;
    return from_descriptor && this_thread.event_fd >= 0 && info->si_fd == this_thread.event_fd;
}
