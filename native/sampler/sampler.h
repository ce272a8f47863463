// What the sampler's parts share inside the watched process.
//
// Functions named *_in_signal run in the signal handler: no lock, no allocation, no call into libc that could take
// one, and no system call once the program has installed a seccomp filter.
#ifndef WHYPERF_SAMPLER_H
#define WHYPERF_SAMPLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "interposed/next.h"
#include "sampler/session.h"
#include "sampler/walk.h"

// A signal that hardly any program uses; what a program does with it all the same is kept apart (signals.c).
#define SAMPLER_SIGNAL (SIGRTMAX - 6)

// Memory of one watched thread that the handler may use: a stack large enough for any signal frame, so that programs
// with tiny or switched stacks are safe by construction, and room for the walk.
// Handlers of the program that ask for an alternate stack (SA_ONSTACK) run on it as well where the program has set up
// none, and may be used to a stack of megabytes.
enum { ALTERNATE_STACK_BYTES = 512 * 1024 };

struct thread_memory {
    unsigned char guard[PAGE_BYTES]; // not accessible
    unsigned char stack[ALTERNATE_STACK_BYTES];
    alignas(PAGE_BYTES) struct walk_memory walk;
};

// What samples cost that follow pointers and those that do not, on average; and how many of 65,536 are to follow.
struct following_costs {
    uint32_t with_ns, without_ns, chance;
};

// How many signals of page faults make a sample, and what samples have cost since that was last asked.
struct fault_costs {
    uint32_t signals_per_sample, signals, samples;
    uint64_t cost_ns, since;
};

struct thread_state {
    struct whyperf_slot *slot; // NULL: not sampled
    unsigned char *ring;
    struct thread_memory *memory;
    // The thread's own stack. While the stack pointer is in it, everything from there up to `stack_high` is mapped.
    uint64_t stack_low, stack_high;
    uint64_t sequence; // the slot's, to notice that it was taken away
    uint64_t head;     // the slot's, when it was last written
    uint32_t slot_index;
    pid_t tid;
    int timer;    // kernel id, -1: none
    int event_fd; // the number that a perf event's signals carry, -1: none
    void *event_page;
    int fault_fd;       // the same of the event of page faults
    void *fault_buffer; // where the kernel says which page it was; NULL: not sampled
    struct fault_costs faults;
    uint64_t second_expiry; // thread CPU time at which the timer goes on after a first, early signal; 0: nothing to do
    uint32_t periods_per_sample;
    uint32_t recent_samples;
    uint32_t random; // never 0
    struct following_costs following;
    uint64_t recent_handler_ns;
    uint64_t latest_memory; // the moment of the latest sample of memory: no two have the same
    volatile sig_atomic_t in_handler;
    bool own_alternate_stack_active; // the kernel has `memory->stack` as this thread's alternate stack
    bool program_blocks_signal;
    bool populated; // its ring and memory have pages
    stack_t program_alternate_stack;
};

extern __thread struct thread_state this_thread;

struct process_state {
    struct whyperf_session *session; // NULL: this process is not watched
    // The widest mapping of the same file, and how many slots' rings it holds: grown when the recorder adds more, so
    // that programs with a limit on their address space pay for what is used.
    _Atomic(struct whyperf_session *) rings;
    _Atomic uint32_t mapped_slots;
    pid_t pid;
    uint64_t period_ns;
    _Atomic bool no_system_calls; // a seccomp filter is installed
    _Atomic bool sampling_forbidden;
    _Atomic bool serves_page_faults; // its own, by userfaultfd
    uint64_t program_bias;
    int64_t program_block_distance; // from the thread pointer to the program's thread-local block; 0: none
    char session_path[WHYPERF_PATH_MAX];
};

extern struct process_state this_process;

// clock.c
uint64_t now_in_signal(void);
uint64_t cpu_now_in_signal(void);         // this thread's; 0: it would take a forbidden system call
void clock_freeze(bool counter_readable); // from now on without system calls
void clock_thaw(void);
void clock_advance_in_signal(uint64_t ns);
bool clock_counter_readable_in_signal(void); // the processor's; uses no vector registers

// ring.c
bool slot_take(void);
void rings_after_fork(void);
void slot_release(void);
void memory_populate_in_signal(void);
void ring_prefetch_in_signal(void);
unsigned char *ring_reserve_in_signal(uint32_t payload_bytes, uint32_t keep_free);
void ring_commit_in_signal(uint16_t kind, uint32_t detail, uint64_t time, uint32_t payload_bytes);
bool ring_write_in_signal(uint16_t kind, uint32_t detail, const void *payload, uint32_t bytes);

// sampler.c
void record_process(enum whyperf_process_origin origin, int argc, char **argv);
void sample_in_signal(int signal_number, siginfo_t *info, void *context);
// What a handler took since it began. Where it was preempted, what others did in the meantime is none of its cost.
struct handler_begin {
    uint64_t time, cpu;
};
struct handler_begin handler_begin_in_signal(void);
uint64_t handler_cost_in_signal(const struct handler_begin *begin);
void sample_note_cost_in_signal(uint64_t cost);
// `memory` makes it a sample of memory, of weight 0; NULL: of time. False when there was no room for it.
bool sample_write_in_signal(const struct walk_request *from, uint32_t weight, uint64_t time,
                            const struct whyperf_memory *memory);

// timers.c
void timer_start(void);
void timer_stop(void);
void timers_stop_all(void);
void timers_after_fork(void);
void timer_continue_in_signal(void);
void timer_note_tick_in_signal(uint64_t now);
void timer_slow_down_in_signal(void);
bool is_unqueued_in_signal(const siginfo_t *info);
bool is_sampling_signal_in_signal(const siginfo_t *info);
extern char timer_cookie;
uint64_t thread_cpu_ns_in_signal(void); // a system call

bool timers_can_queue(void);
bool timers_can_queue_within(rlim_t limit);
void timers_replace_events(void);
bool event_ends(_Atomic(void *) *mapping, size_t bytes); // false: there was none
// Have an open perf event signal this thread; what to map of it, or MAP_FAILED.
void *event_signals_this_thread(int fd, size_t bytes);

// page_faults.c
void page_faults_start(void);
void page_faults_stop(void);
uint32_t page_faults_stop_all(void); // how many threads'
void page_faults_after_fork(void);
void page_faults_look_at_all(void);
bool is_page_fault_in_signal(const siginfo_t *info);
void page_fault_sample_in_signal(const ucontext_t *context);

// memory/allocations.c, where it is a part of the library
__attribute__((weak)) void allocations_finish(void);
__attribute__((weak)) void allocators_start(void);

// threads.c
void thread_enroll(uint64_t stack_low, uint64_t stack_high, bool blocks_signal);
void thread_end(void);
void threads_watch_forks(void);

// signals.c
bool signals_install_handler(void);
void signals_unblock(bool program_blocks);
bool signals_block_for_new_thread(void);
void signals_unblock_after_new_thread(bool blocked);
void signals_forward_in_signal(int signal_number, siginfo_t *info, void *context);
void signals_use_alternate_stack(void);
bool signals_leave_alternate_stack(void); // false: this thread still runs on it

// modules.c
void modules_enter_in_signal(void); // from here to leave, the list stays in place
void modules_leave_in_signal(void);
void modules_wait_for_readers(void); // until no handler runs, or for a second
const struct unwind_modules *modules_in_signal(void);
uint64_t modules_generation_in_signal(const struct unwind_modules *modules); // no other list has the same
const struct values_table *modules_variables_in_signal(const struct unwind_modules *modules,
                                                       const struct unwind_module *module);
bool modules_refresh_in_signal(void); // true when something changed
bool modules_are_stale_in_signal(void);
bool modules_missed_in_signal(uint64_t now);
void modules_after_fork(void);

// globals.c
void globals_watch_in_signal(uint64_t module_start, uint64_t bias, const struct values_table *table);
void globals_forget_in_signal(uint64_t start, uint64_t end); // of modules that start there
void globals_sample_in_signal(uint64_t time);
void globals_after_fork(void);

// environment.c
void environment_hide(char **environment);
struct environment_plan {
    size_t entries; // of the new array, terminator included
    size_t text_bytes;
    const char *preload; // the program's own, "" for none
    size_t preload_bytes;
};
struct environment_plan environment_plan(char *const environment[]);
void environment_after_fork(void);
bool environment_names_session(char *const environment[]);
void environment_fill(struct environment_plan plan, char *const environment[], char **entries, char *text);

// faults.c
bool memory_can_be_copied_in_signal(void); // by system call

// follow.c
int follow_check_path(const char *path);
int follow_check_fd(int fd, const char *name);

#endif
