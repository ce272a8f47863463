// The rings file: the one piece of memory that a watched process and its recorder share.
//
// Layout: a header page, a table of slots, then one ring per slot. A slot belongs to one thread of a watched
// process at a time; that thread is the ring's only producer, the recorder its only consumer. Everything here is
// plain data in a file mapping, so whatever a killed process had published stays readable.
#ifndef WHYPERF_SESSION_H
#define WHYPERF_SESSION_H

#include <stdatomic.h>
#include <stdint.h>

#define WHYPERF_SESSION_MAGIC 0x3173676e69727077ull // "wprings1"
#define WHYPERF_SESSION_VERSION 4u

enum {
    WHYPERF_SLOTS = 4096,
    WHYPERF_RING_BYTES = 64 * 1024,
    // Samples leave this much of a ring to process and module records, which must not be lost.
    WHYPERF_RING_RESERVE = 16 * 1024,
    WHYPERF_MAX_FRAMES = 1024,
    WHYPERF_PATH_MAX = 4096,
    WHYPERF_HANDLER_BUCKETS = 64,
};

// Why a stack ends before the program's entry.
enum whyperf_cut {
    WHYPERF_CUT_NONE = 0,            // reached the outermost frame
    WHYPERF_CUT_NO_MODULE = 1,       // return address in no known module (JIT code, damaged frame)
    WHYPERF_CUT_NO_ROW = 2,          // the module's unwind information does not cover the address
    WHYPERF_CUT_RULE = 3,            // a rule that the compact rows cannot express
    WHYPERF_CUT_REGISTER = 4,        // the rule needs a register whose value was not recovered
    WHYPERF_CUT_UNREADABLE = 5,      // stack memory could not be read
    WHYPERF_CUT_NO_PROGRESS = 6,     // the frame address did not move up: a damaged or switched stack
    WHYPERF_CUT_DEPTH = 7,           // deeper than WHYPERF_MAX_FRAMES
    WHYPERF_CUT_NO_SYSTEM_CALLS = 8, // would need a system call after a seccomp filter was installed
    WHYPERF_CUT_REASONS = 9,
};

// Why a program that the target started is not watched.
enum whyperf_unfollowed {
    WHYPERF_UNFOLLOWED_STATIC = 1,
    WHYPERF_UNFOLLOWED_OTHER_LIBC = 2,
    WHYPERF_UNFOLLOWED_OTHER_ARCHITECTURE = 3,
    WHYPERF_UNFOLLOWED_SETUID = 4,
    WHYPERF_UNFOLLOWED_UNREACHABLE = 5, // chroot or dropped privileges hide the rings or the library
    WHYPERF_UNFOLLOWED_SECCOMP = 6,
    WHYPERF_UNFOLLOWED_NO_SLOT = 7, // every ring was taken
    WHYPERF_UNFOLLOWED_RUNTIME = 8, // a sanitizer's runtime that must be loaded before everything else
    WHYPERF_UNFOLLOWED_CLONE = 9,   // a child that is made behind the C library's back
};

enum whyperf_record_kind {
    WHYPERF_RECORD_PAD = 0,         // skip to the ring's start
    WHYPERF_RECORD_SAMPLE = 1,      // detail = weight (24 bits) | cut reason << 24; u64 pcs[], innermost first
    WHYPERF_RECORD_PROCESS = 2,     // struct whyperf_process, then executable\0 argv0\0 argv1\0 ...
    WHYPERF_RECORD_MODULE = 3,      // struct whyperf_module, then path\0
    WHYPERF_RECORD_MODULE_GONE = 4, // u64 start
    WHYPERF_RECORD_UNFOLLOWED = 5,  // detail = enum whyperf_unfollowed; path\0
    WHYPERF_RECORD_THREAD_END = 6,  // struct whyperf_thread_end
    WHYPERF_RECORD_VALUES = 7,      // of the sample before it: see values/record.h
    WHYPERF_RECORD_GLOBALS = 8,     // u64 module start, then struct whyperf_global of those that changed
    WHYPERF_RECORD_VARIABLES = 9,   // u64 module start, u64 hash of the variables table in use from now on
    WHYPERF_RECORD_MEMORY = 10,     // struct whyperf_memory, of the sample before it, whose weight is 0
    // Only in the raw log, written by the recorder in place of WHYPERF_RECORD_SAMPLE:
    WHYPERF_RECORD_STACK = 16,      // u64 stack id, then u64 pcs[]; before its first use in each log file
    WHYPERF_RECORD_SAMPLE_REF = 17, // detail as in SAMPLE; u64 stack id
    WHYPERF_RECORD_BLOCKED = 18, // detail = system call (24 bits) | cut reason << 24; u64 weight in ns, then u64 pcs[]
};

// Every record: 16 bytes, then a payload; `words` counts all of it in units of 8 bytes and is even, so that a ring's
// end always has room for a header. Where a list of pcs would make it odd, a zero follows: not a pc.
struct whyperf_record {
    uint16_t kind;
    uint16_t words;
    uint32_t detail;
    uint64_t time; // CLOCK_MONOTONIC, ns
};

enum whyperf_process_origin { WHYPERF_ORIGIN_EXEC = 1, WHYPERF_ORIGIN_FORK = 2, WHYPERF_ORIGIN_ATTACHED = 3 };

struct whyperf_process {
    uint32_t pid;
    uint32_t ppid;
    uint32_t origin;
    uint32_t argc;
};

struct whyperf_module {
    uint64_t start, end;  // the executable mapping
    uint64_t file_offset; // of that mapping
    uint64_t bias;        // address minus ELF virtual address
    uint32_t build_id_size;
    uint8_t build_id[20];
    uint64_t inode;
};

struct whyperf_global {
    uint32_t index; // in the table's list of globals
    uint32_t padding;
    uint64_t value;
};

struct whyperf_thread_end {
    uint64_t cpu_ns;
    char name[16];
};

enum whyperf_memory_kind {
    WHYPERF_MEMORY_ALLOCATED = 0,
    WHYPERF_MEMORY_FREED = 1,
    WHYPERF_MEMORY_FREED_BEFORE = 2, // nobody could say so when it happened
    WHYPERF_MEMORY_FAULTED = 3,      // a page was touched for the first time
    WHYPERF_MEMORY_TOUCHED = 4,      // of an allocation that lives on when its process ends
};

struct whyperf_memory {
    uint64_t address;
    uint64_t bytes;    // asked for; FREED_BEFORE: the moment, as in `time`; FREED, TOUCHED: of pages that are there
    uint64_t interval; // one sample in so many bytes, on average; FAULTED: in so many faults; FREED_BEFORE: 1 for
                       // pages; FREED, TOUCHED: 1 where `bytes` is known
    uint64_t kind;     // enum whyperf_memory_kind
};

enum whyperf_slot_state {
    WHYPERF_SLOT_FREE = 0,
    WHYPERF_SLOT_TAKEN = 1,
    WHYPERF_SLOT_DONE = 2,
    WHYPERF_SLOT_CLAIMED = 3, // its new owner is still writing pid and tid: not the recorder's business yet
};

// What a slot's owner counts; the recorder adds them up when it retires the slot.
struct whyperf_counters {
    uint64_t samples;
    uint64_t weight;
    uint64_t dropped;      // weight of samples for which the ring had no room
    uint64_t records_lost; // process, module and other records for which it had none
    uint64_t busy;         // weight of signals that arrived while the handler was already running
    uint64_t handler_ns;   // time spent in the handler
    uint64_t handler_ns_max;
    uint64_t cut[WHYPERF_CUT_REASONS];
    uint64_t overruns;
    uint64_t values;            // samples of which something was kept to tell variables from
    uint64_t values_others;     // of those, samples that followed pointers as well
    uint64_t values_unreadable; // pieces of memory that were not there
    uint64_t values_forbidden;  // pieces of memory that a system call would have been needed for
    uint64_t values_dropped;    // samples whose values found no room in the ring
    uint32_t handler_times[WHYPERF_HANDLER_BUCKETS];
};

// How often the handler took how long. Bucket 0 is for up to 250 ns; each octave from there on has four, of equal
// width; the last one is for all that took longer.
static inline uint32_t whyperf_handler_bucket(uint64_t ns) {
    if (ns <= 250)
        return 0;
    uint64_t sixteenths = (ns - 1) * 8 / 125; // of 250 ns, at least 16
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(sixteenths);
    uint32_t bucket = 4 * (octave - 4) + (uint32_t)(sixteenths >> (octave - 2) & 3) + 1;
    return bucket < WHYPERF_HANDLER_BUCKETS ? bucket : WHYPERF_HANDLER_BUCKETS - 1;
}

// The middle of a bucket.
static inline uint64_t whyperf_handler_bucket_ns(uint32_t bucket) {
    if (bucket == 0)
        return 125;
    uint64_t octave = 250ull << (bucket - 1) / 4;
    return octave + octave / 4 * ((bucket - 1) % 4) + octave / 8;
}

struct whyperf_slot {
    _Alignas(64) _Atomic uint32_t state;
    uint32_t pid, tid;
    uint32_t padding;
    _Atomic uint64_t sequence; // one more for every new owner in this session: names an owner for good
    uint64_t start;            // CLOCK_MONOTONIC, ns
    _Atomic uint64_t head;     // bytes ever produced; written by the owner
    _Atomic uint64_t tail;     // bytes ever consumed; written by the recorder
    struct whyperf_counters counters;
};

struct whyperf_session {
    uint64_t magic;
    uint32_t version;
    // Slots below this have disk blocks behind their ring, so that writing one cannot raise SIGBUS on a full disk. Take
    // none above; the recorder adds more before they run out.
    _Atomic uint32_t slots;
    uint32_t ring_bytes;
    uint32_t rate_hz;
    uint32_t use_perf_events;           // software cpu-clock events instead of CPU-time timers
    _Atomic uint32_t stopped;           // the recorder has gone: write nothing more
    uint32_t values_depth;              // frames whose variables are read; 0: none
    _Atomic uint32_t tables_generation; // grows when there are new variables tables
    uint32_t memory_interval;           // bytes allocated for each sample of allocations, on average; 0: none
    uint32_t fault_interval;            // page faults for each sample of them; 0: none
    _Atomic uint64_t next_sequence;
    _Atomic uint32_t slot_hint;
    // Counted here because no slot could be had.
    _Atomic uint64_t threads_without_slot;
    _Atomic uint64_t processes_started;
    // Of sampled allocations, those that could not be written, and those whose end could not be.
    _Atomic uint64_t allocations_lost, frees_lost;
    _Atomic uint64_t modules_not_patched;    // whose allocator could not be: see memory/linked.h
    _Atomic uint64_t threads_without_faults; // whose page faults the kernel did not permit to sample
    char tables[WHYPERF_PATH_MAX];           // folder of unwind tables, by build-id
    char library[WHYPERF_PATH_MAX];          // the preloaded library itself
    // Written by the recorder alone, and here so that they outlive it.
    struct whyperf_counters retired; // of owners whose slots were freed
    uint64_t rings_damaged, bytes_damaged;
    // Behind what recordings of before had, where those hold 0.
    _Atomic uint64_t threads_limited; // sampled only until the program limited queued signals
};

#define WHYPERF_SESSION_HEADER_BYTES (16 * 1024)
// The file's size up to the end of that many rings.
#define WHYPERF_BYTES_OF_SLOTS(count)                                                                                  \
    (WHYPERF_SESSION_HEADER_BYTES + sizeof(struct whyperf_slot) * WHYPERF_SLOTS +                                      \
     (uint64_t)(count) * WHYPERF_RING_BYTES)
#define WHYPERF_SESSION_BYTES WHYPERF_BYTES_OF_SLOTS(WHYPERF_SLOTS)

_Static_assert(sizeof(struct whyperf_session) <= WHYPERF_SESSION_HEADER_BYTES, "the header has outgrown its pages");
_Static_assert(sizeof(struct whyperf_record) == 16, "records are packed by hand");
_Static_assert(sizeof(struct whyperf_slot) % 64 == 0, "slots must not share cache lines");

static inline struct whyperf_slot *whyperf_slots(struct whyperf_session *session) {
    return (struct whyperf_slot *)((char *)session + WHYPERF_SESSION_HEADER_BYTES);
}

static inline unsigned char *whyperf_ring(struct whyperf_session *session, uint32_t slot) {
    return (unsigned char *)(whyperf_slots(session) + WHYPERF_SLOTS) + (uint64_t)slot * WHYPERF_RING_BYTES;
}

#define WHYPERF_ENV_SESSION "WHYPERF_SESSION" // path of the rings file

#endif
