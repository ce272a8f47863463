// What the programs in the kernel and the loader share besides records: all of it lies in mapped memory.
#ifndef WHYPERF_TRACER_SHARED_H
#define WHYPERF_TRACER_SHARED_H

#include "tracer/machine.h"
#include "tracer/record.h"

enum {
    TRACE_MAX_FRAMES = 127,
    TRACE_MAX_KERNEL_FRAMES = 64,
    TRACE_NESTING = 4, // a thread, softirq, hard interrupt, NMI
    TRACE_PROCESSES = 16384,
    TRACE_RULES = 32768,
    TRACE_MAPPINGS = 1 << 16,
    TRACE_CHUNKS = 64,
    TRACE_CHUNK_ENTRIES = 1 << 19, // 4 MB
    TRACE_SHED_LOG = 1024,
    TRACE_STACK_PAGE = 1 << 14,
    TRACE_STACK_TAIL = 8 * (TRACE_MAX_FRAMES + 1), // an entry begins in its page and may reach beyond
    TRACE_INTERN_WAYS = 4,
    TRACE_CACHED_RULES = 1024,
    TRACE_KNOWN_WALKS = 256, // a CPU
    TRACE_WALK_WAYS = 2,
    TRACE_IN_LINK = 0xffff, // for a place above the stack pointer: the return address is in a register
    TRACE_CALL_STACKS = 4096,
    TRACE_KNOWN_CALLERS = 32,
    TRACE_WINDOW_WORDS = 64,
};

// What is left out at each level, in this order; a level leaves out what those below it do as well.
enum trace_shed {
    TRACE_SHED_NOTHING,
    TRACE_SHED_QUICK_STACKS, // of what neither waited nor woke anybody; and entries of system calls
    TRACE_SHED_SYSCALL_STACKS,
    TRACE_SHED_INERT_SYSCALLS, // those that neither block nor transfer anything
    TRACE_SHED_QUICK_SYSCALLS, // those that neither waited nor woke anybody
    TRACE_SHED_WAKING_STACKS,
    TRACE_SHED_FAULTS_LOCKS_WORK, // page faults, contention, workqueues
    TRACE_SHED_SOCKETS_TIMERS,
    TRACE_SHED_SYSCALLS, // switches and wakings still tell the system call that they happened in
    TRACE_SHED_SWITCH_STACKS,
    TRACE_SHED_MOST_SWITCHES, // switches and wakings but in a tenth of the time
    TRACE_SHED_LEVELS,
};

// What a tracer that is opened again must know of the one that went before.
struct trace_installed {
    u32 rules, chunks, chunk_entries, mappings, generation;
};

struct trace_globals {
    u64 stack_numbers, shed_changes; // given out so far
    u32 running;
    u32 met; // processes
    struct trace_installed installed;
};

enum trace_scope { TRACE_SCOPE_ALL, TRACE_SCOPE_TREE, TRACE_SCOPE_PROCESS };

// Fixed before the programs are loaded.
enum { TRACE_LAYOUT = 7 }; // changes whenever anything in this file or in record.h does

struct trace_settings {
    u64 layout;
    u64 kinds; // bit per enum trace_kind
    u64 sample_period;
    u64 ring_slots;  // a CPU
    u64 stack_pages; // a CPU, a power of two
    u64 intern_sets; // a power of two
    u64 shed_budget; // nanoseconds that recording may take of every 100 ms of a CPU; 0: nothing is shed
    u64 shed_burst;  // nanoseconds that it may take beyond that, until it has saved them again
    u64 read_cost;   // nanoseconds that whoever reads a record takes for it
    u32 self;        // process that traces
    u32 scope;
    u32 met_limit;
    u32 cpus;
    u8 syscall_stacks;
    u8 kernel_stacks;  // at every switch, not only in uninterruptible sleep
    u8 shed_floor;     // a level that is shed anyway
    u8 reads_directly; // the kernel lets words be taken for pointers
    u8 page_shift;
    u8 unused[3];
};

// One module's address range in a process. An extent of them begins with a header, in which only `start`, the number of
// mappings that follow, and `generation` count.
struct trace_mapping {
    u64 start, end;
    u64 bias;
    u32 chunk;
    u32 first;        // of its entries in the chunk: index, then rows
    u32 first_bucket; // address >> UNWIND_INDEX_SHIFT of the first index entry
    u32 buckets;
    u32 generation;
    u32 unused;
};

// An index entry: the rows of a bucket lie in [low, high]. A row: the rule that holds from an address on.
union trace_entry {
    struct {
        u32 low, high;
    };
    struct {
        u32 address, rule;
    };
};

// A struct unwind_row without its address: distinct ones are few.
struct trace_rule {
    s32 offset;
    u8 kind, reg;
#if TRACE_ON_AARCH64
    s16 saved_base;
#endif
    signed char saved[TRACE_SAVED_REGISTERS];
    u32 unused;
};

// Followed: the user's choice. Met: talked to one of those. Gone: has exited and may be forgotten. Children: what it
// starts is followed.
enum { TRACE_FOLLOWED = 1, TRACE_MET = 2, TRACE_GONE = 4, TRACE_CHILDREN = 8 };

struct trace_process {
    u32 extent;     // first of its mappings; 0: none
    u32 generation; // of that extent
    u32 scope;      // TRACE_FOLLOWED and so on
    u32 patience;   // milliseconds before an unknown module is reported again
    u64 reported;
};

enum trace_notice_kind {
    TRACE_NOTICE_EXEC = 1,
    TRACE_NOTICE_MAP,     // executable memory was mapped
    TRACE_NOTICE_UNKNOWN, // a stack led to an address in no known module
    TRACE_NOTICE_FORK,
    TRACE_NOTICE_EXIT, // of the whole process
    TRACE_NOTICE_MET,  // it is recorded from now on
};

struct trace_notice {
    u64 time;
    u32 kind, pid;
    u64 address; // of an unknown module; the child of a fork
};

// A probe at a function that puts or runs tasks carries this as its cookie. A value is an argument of the function, or
// the word at an offset from where that points to.
struct trace_task_probe {
    u16 queue;
    u8 runs;                                                             // not puts
    u8 key : 3, key_in_memory : 1, function : 3, function_in_memory : 1; // arguments 1 to 6; function 0: not asked for
    s16 key_offset, function_offset;
};
_Static_assert(sizeof(struct trace_task_probe) == 8, "a cookie is a word");

struct trace_shed_change {
    u64 time;
    u32 cpu;
    u16 before, after;
};

enum trace_counter {
    TRACE_COUNT_STACKS,       // taken
    TRACE_COUNT_STACKS_AGAIN, // of them found where the last walk from the same place had found them
    TRACE_COUNT_STACKS_KEPT,  // stored: the rest was known already
    TRACE_COUNT_NO_PROCESS,   // stacks of processes whose modules are not known yet
    TRACE_COUNT_CUT,          // by enum whyperf_cut, 9 of them
    TRACE_COUNT_NOTICES_LOST = TRACE_COUNT_CUT + 9,
    TRACE_COUNT_PROCESSES_FULL,
    TRACE_COUNT_TOO_DEEP_NESTING,
    TRACE_COUNT_TASKS_LOST,
    TRACE_COUNT_QUICK_CALLS, // left out
    TRACE_COUNTERS,
};

// What a stack walk needs; one a nesting level, since interrupts trace too.
struct trace_scratch {
    u64 value[TRACE_REGISTER_SLOTS]; // of a register, or where it lies on the stack
    u64 known, located;              // bit per register
    u32 exact;                       // the pc is no return address
    u32 depth;
    u32 cut;
    u32 level; // enum trace_shed when the event began
    u32 cpu;
    u32 unused;
    u64 hash;
    u64 time;
    u64 kept;   // the stack, as in struct trace_interned; 0 if it was cut
    u64 began;  // the stack pointer that the walk began with
    u64 beyond; // not 0: a return address lies where no known walk can tell of it
    u16 above[TRACE_KNOWN_CALLERS];
    struct trace_mapping mapping; // the last one that was looked up
    u64 window_start;             // of the stretch of the user's stack that was read last
    u64 window[TRACE_WINDOW_WORDS];
    u64 signal[17]; // of x86-64: the registers that a signal interrupted
    u64 frames[TRACE_MAX_FRAMES + 1];
};

// Which rule holds at an address, in an extent of this generation. As with interned stacks a slot that is being written
// matches nothing: check is pc ^ data.
struct trace_cached_rule {
    u64 check;
    u64 data; // generation << 32 | rule
};

// Where the return addresses of a stack lay, in words above the stack pointer that the walk began with. Whoever begins
// there again and reads the same addresses has the same stack. A slot that is being written matches nothing: check is
// place ^ hash ^ data.
struct trace_known_walk {
    u64 check;
    u64 hash; // of the addresses, in order
    u64 data; // as in struct trace_interned
    u32 generation;
    u32 callers;
    u16 above[TRACE_KNOWN_CALLERS];
};

// The stack of a thread's system call that goes on. One that another thread's has taken the place of matches nothing:
// check is place ^ data.
struct trace_call_stack {
    u64 check;
    u64 data; // as in struct trace_interned
};

struct trace_cpu {
    u64 head;                        // records begun
    u64 committed;                   // records that are whole: nothing is being written
    u64 lap;                         // number of the record at the ring's first slot
    u64 stack_head, stack_committed; // bytes
    u32 nesting;
    u32 context;  // enum trace_context
    u64 expiring; // the timer whose function runs
    u64 window_start, window_cost;
    u64 cost;         // nanoseconds that recording took, by estimate
    u64 debt;         // of that, what the budget since then has not made good
    u64 settled;      // when it was last reckoned
    u64 records_read; // until then
    u64 quick_calls;  // left out until then
    u32 acting;       // thread that came to run here, or woke somebody
    u32 acting_calls; // of its system calls that end from now on have to do with that
    u32 level;
    u32 calm;     // windows since the budget was last exceeded
    u32 patience; // calm windows before a level is taken back
    u32 untimed;  // runs of programs since the last one that was timed
    u32 walks_remembered;
    u32 unused;
    u64 counters[TRACE_COUNTERS];
    struct trace_scratch scratch[TRACE_NESTING];
    struct trace_cached_rule cached[TRACE_CACHED_RULES];
    struct trace_known_walk walks[TRACE_KNOWN_WALKS];
} __attribute__((aligned(64)));

struct trace_stack_page {
    u64 first; // position of the first entry that begins in this page
    u8 bytes[TRACE_STACK_PAGE + TRACE_STACK_TAIL];
};

// Identity of stacks is a 64-bit hash: of a million different ones some two are mixed up with probability 3e-8. A slot
// whose `check` is not hash ^ data was being written: it matches nothing.
struct trace_interned {
    u64 check;
    u64 data; // number << 32 | CPU << 20 | a fourth of that CPU's pages' laps, modulo 2^20
};

struct trace_interned_set {
    struct trace_interned ways[TRACE_INTERN_WAYS];
};

#endif
