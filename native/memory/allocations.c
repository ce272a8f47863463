#include "memory/allocations.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "machine/machine.h"
#include "sampler/sampler.h"

__thread struct thread_allocations these_allocations;
_Atomic bool allocators_call_each_other;

// Before the session is known, and in threads that have no ring: how many bytes until it is looked for again.
enum { LOOK_AGAIN_BYTES = 64 * 1024 };

static uint64_t next_random(void) {
    uint64_t number = these_allocations.random;
    number ^= number << 13;
    number ^= number >> 7;
    number ^= number << 17;
    return these_allocations.random = number;
}

// The logarithm to base 2 of a number from 1 to 2, to five digits.
static double log2_of_mantissa(double x) {
    // By y = (x - 1) / (x + 1), ln x = 2 (y + y^3 / 3 + y^5 / 5 + ...), with y up to 1/3.
    double y = (x - 1.0) / (x + 1.0), square = y * y;
    return 2.885390081777927 * y * (1.0 + square * (1.0 / 3 + square * (1.0 / 5 + square * (1.0 / 7 + square / 9))));
}

static void set_until_sample(int64_t bytes) {
    bool always = atomic_load_explicit(&allocators_call_each_other, memory_order_relaxed);
    these_allocations.lowered_by = always ? INT64_MAX / 2 : 0;
    these_allocations.until_sample = bytes - these_allocations.lowered_by;
}

// How many bytes until the next sample: an exponential distribution, so that no rhythm of the program can meet ours.
static void draw(void) {
    uint64_t number = next_random() >> 12 | 1; // 52 bits: a part of 1
    int exponent = 63 - __builtin_clzll(number);
    double log2 = exponent - 52 + log2_of_mantissa((double)number / (double)(1ull << exponent));
    set_until_sample((int64_t)(-0.6931471805599453 * log2 * (double)these_allocations.interval));
}

static bool begin(void) {
    const struct whyperf_session *session = this_process.session;
    set_until_sample(LOOK_AGAIN_BYTES);
    if (!session || !session->memory_interval || !this_thread.slot)
        return false;
    these_allocations.interval = session->memory_interval;
    these_allocations.random = ((uint64_t)this_thread.tid << 32 ^ now_in_signal()) * 0x9e3779b97f4a7c15u | 1;
    draw();
    return true;
}

// Frees that could not be written are said with later samples that can, and before the process ends.
struct unsaid_free {
    _Atomic uint64_t address; // 0: none, 1: being written
    uint64_t time;
};
enum { UNSAID = 1 << 14, LOOKED_FOR = 64, SAID_AT_ONCE = 16 };
static struct unsaid_free unsaid[UNSAID];
static _Atomic uint32_t unsaid_count, next_place, next_said;

static void remember_free(uint64_t address, uint64_t time) {
    for (int i = 0; i < LOOKED_FOR; i++) {
        struct unsaid_free *one = &unsaid[atomic_fetch_add(&next_place, 1) % UNSAID];
        uint64_t expected = 0;
        if (atomic_compare_exchange_strong(&one->address, &expected, 1)) {
            one->time = time;
            atomic_store(&one->address, address);
            atomic_fetch_add(&unsaid_count, 1);
            return;
        }
    }
    if (this_process.session)
        atomic_fetch_add(&this_process.session->frees_lost, 1);
}

struct guarded {
    sigset_t mask;
    bool masked;
};

enum { KERNEL_MASK_BYTES = 8 };

// Whether this thread may write to its ring now. From then on no handler of the program runs that could leave us by
// longjmp, nor our own.
static bool enter(struct guarded *guarded) {
    struct whyperf_session *session = this_process.session;
    if (!session || !this_thread.slot || !this_thread.memory || this_thread.in_handler ||
        atomic_load_explicit(&session->stopped, memory_order_relaxed))
        return false;
    guarded->masked = false;
    this_thread.in_handler = 1;
    atomic_signal_fence(memory_order_seq_cst);
    modules_enter_in_signal();
    if (atomic_load(&this_process.no_system_calls))
        return true;
    // A child made by clone() without our knowing has its parent's slot before it.
    if ((pid_t)syscall(SYS_gettid) != this_thread.tid) {
        modules_leave_in_signal();
        this_thread.in_handler = 0;
        return false;
    }
    uint64_t all = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1));
    guarded->masked = syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &guarded->mask, KERNEL_MASK_BYTES) == 0;
    return true;
}

static void leave(const struct guarded *guarded) {
    modules_leave_in_signal();
    atomic_signal_fence(memory_order_seq_cst);
    this_thread.in_handler = 0;
    if (guarded->masked)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &guarded->mask, NULL, KERNEL_MASK_BYTES);
}

// False when the ring is full.
static bool say_unsaid_free(struct unsaid_free *one) {
    uint64_t address = atomic_load(&one->address);
    if (address <= 1 || !atomic_compare_exchange_strong(&one->address, &address, 1))
        return true;
    struct walk_request nowhere = {.no_stack = true, .no_values = true};
    struct whyperf_memory memory = {address, one->time, 0, WHYPERF_MEMORY_FREED_BEFORE};
    bool said = sample_write_in_signal(&nowhere, 0, now_in_signal(), &memory);
    atomic_store(&one->address, said ? 0 : address);
    if (said)
        atomic_fetch_sub(&unsaid_count, 1);
    return said;
}

static void say_unsaid_frees(void) {
    if (!atomic_load_explicit(&unsaid_count, memory_order_relaxed))
        return;
    for (int i = 0; i < SAID_AT_ONCE; i++)
        if (!say_unsaid_free(&unsaid[atomic_fetch_add(&next_said, 1) % UNSAID]))
            return;
}

static uint32_t ring_used_eighths(void) {
    const struct whyperf_slot *slot = this_thread.slot;
    uint64_t used = atomic_load_explicit(&slot->head, memory_order_relaxed) -
                    atomic_load_explicit(&slot->tail, memory_order_relaxed);
    return (uint32_t)(used * 8 / WHYPERF_RING_BYTES);
}

// The fuller the ring, the fewer bytes are sampled: the recorder empties it some hundred times a second.
static void adapt_interval(void) {
    uint32_t eighths = ring_used_eighths();
    uint32_t fewer = eighths < 3 ? 0 : eighths == 3 ? 2 : eighths == 4 ? 4 : 6;
    these_allocations.interval = (uint64_t)this_process.session->memory_interval << fewer;
}

// Of less than this, whole pages that were never touched do not matter.
enum { LEAST_LOOKED_AT = 16 * PAGE_BYTES, PROBES = 16 };

// How much of a block is there, by some of its pages: what was never touched is not.
static uint64_t touched_bytes(uint64_t address, uint64_t bytes) {
    uint64_t first = (address + PAGE_BYTES - 1) / PAGE_BYTES, last = (address + bytes) / PAGE_BYTES;
    if (bytes < LEAST_LOOKED_AT || atomic_load(&this_process.no_system_calls) || last < first + PROBES)
        return bytes < LEAST_LOOKED_AT ? bytes : TOUCHED_UNKNOWN;
    uint32_t seen = 0;
    for (uint64_t i = 0; i < PROBES; i++) {
        unsigned char resident = 0;
        uint64_t page = first + (last - first) * i / PROBES + next_random() % ((last - first) / PROBES);
        if (syscall(SYS_mincore, page * PAGE_BYTES, PAGE_BYTES, &resident) != 0)
            return TOUCHED_UNKNOWN;
        seen += resident & 1;
    }
    return bytes / PROBES * seen;
}

bool allocation_leaves(uint64_t address, struct ending_allocation *ending) {
    int saved_errno = errno;
    ending->address = address;
    bool was_there = live_remove(address, &ending->bytes);
    if (was_there) {
        ending->time = now_in_signal();
        ending->touched = touched_bytes(address, ending->bytes);
    }
    errno = saved_errno;
    return was_there;
}

bool allocation_stays(const struct ending_allocation *ending) {
    return live_add(ending->address, ending->bytes);
}

static bool written(const struct whyperf_memory *memory, uint64_t time) {
    struct guarded guarded;
    if (!enter(&guarded))
        return false;
    memory_populate_in_signal();
    uint64_t began = now_in_signal();
    struct unwind_registers here;
    machine_registers_here(&here);
    say_unsaid_frees();
    // Variables take the most room by far: not where room is short.
    bool without = memory->kind != WHYPERF_MEMORY_ALLOCATED || ring_used_eighths() > 0;
    // A free needs no stack to be known; where room is short, it does without.
    bool nowhere = memory->kind != WHYPERF_MEMORY_ALLOCATED && ring_used_eighths() > 4;
    struct walk_request request = {.from = &here, .no_values = without, .no_stack = nowhere};
    bool success = sample_write_in_signal(&request, 0, time ? time : now_in_signal(), memory);
    adapt_interval();
    sample_note_cost_in_signal(now_in_signal() - began);
    leave(&guarded);
    return success;
}

__attribute__((noinline)) bool allocation_sample(void *address, size_t bytes) {
    int saved_errno = errno;
    bool began = !these_allocations.random;
    if (began && begin())
        these_allocations.until_sample -= (int64_t)bytes;
    if (began && !sample_is_due()) {
        errno = saved_errno;
        return false;
    }
    struct whyperf_memory memory = {(uint64_t)address, bytes, these_allocations.interval, WHYPERF_MEMORY_ALLOCATED};
    bool held = live_add((uint64_t)address, bytes);
    bool success = held && written(&memory, 0);
    uint64_t unused;
    if (held && !success)
        live_remove((uint64_t)address, &unused);
    if (!success && this_process.session)
        atomic_fetch_add(&this_process.session->allocations_lost, 1);
    draw();
    errno = saved_errno;
    return success;
}

__attribute__((noinline)) void allocation_ended(const struct ending_allocation *ending) {
    int saved_errno = errno;
    bool known = ending->touched != TOUCHED_UNKNOWN;
    struct whyperf_memory memory = {ending->address, known ? ending->touched : 0, known, WHYPERF_MEMORY_FREED};
    if (!written(&memory, ending->time))
        remember_free(ending->address, ending->time);
    errno = saved_errno;
}

// What was never freed is looked at when the process ends.
static void say_touched(uint64_t address, uint64_t bytes) {
    uint64_t touched = bytes < LEAST_LOOKED_AT ? TOUCHED_UNKNOWN : touched_bytes(address, bytes);
    struct walk_request nowhere = {.no_stack = true, .no_values = true};
    struct whyperf_memory memory = {address, touched, 1, WHYPERF_MEMORY_TOUCHED};
    if (touched != TOUCHED_UNKNOWN)
        sample_write_in_signal(&nowhere, 0, now_in_signal(), &memory);
}

static void say_all_touched(void) {
    struct guarded guarded;
    if (atomic_load(&this_process.no_system_calls) || !enter(&guarded))
        return;
    live_each(say_touched);
    leave(&guarded);
}

// Programs free much at once when they end: the recorder needs a moment for it.
void allocations_finish(void) {
    enum { PAUSES = 200 };
    say_all_touched();
    struct timespec pause = {.tv_nsec = 1000 * 1000};
    struct guarded guarded;
    for (int i = 0; i < PAUSES && atomic_load(&unsaid_count) && !atomic_load(&this_process.no_system_calls); i++) {
        if (!enter(&guarded))
            break;
        bool said = true;
        for (uint32_t place = 0; place < UNSAID && said; place++)
            said = say_unsaid_free(&unsaid[place]);
        leave(&guarded);
        if (!said)
            syscall(SYS_nanosleep, &pause, NULL);
    }
    if (this_process.session)
        atomic_fetch_add(&this_process.session->frees_lost, atomic_load(&unsaid_count));
}
