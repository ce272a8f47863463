// What was seen, in a file of this process: it outlives it however it ends.
//
// The file has a header, a row for each module, one for each site, and records. The recorder maps it while the process
// runs, and sets `armed` and `armed_until` of sites that it arms again. whyperf/collect/observation/record_files.py has
// the same numbers.
#ifndef WHYPERF_OBSERVATION_RECORD_FILE_H
#define WHYPERF_OBSERVATION_RECORD_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "observation/registers.h"
#include "observation/site_file.h"
#include "probes/modules.h"

#define RECORD_FILE_MAGIC "WPRECORD"

enum {
    RECORD_FILE_VERSION = 2,
    RECORD_FILE_HEADER_BYTES = 4096,
    RECORD_FILE_MODULES = 256,
    RECORD_FILE_PATH_BYTES = 1008,
    RECORD_FILE_MOST = 32768,
};

struct record_header {
    char magic[8];
    uint32_t version;
    int32_t pid, parent;
    uint32_t forked;
    uint64_t start_ns;  // CLOCK_MONOTONIC
    uint64_t mapped_at; // in the process
    uint64_t capacity;
    _Atomic uint64_t used; // may be more than there is room for
    _Atomic uint32_t modules;
    _Atomic uint32_t unwatched; // 1: libraries that are loaded later are not noticed
    _Atomic uint32_t sandboxed; // 1: nothing is recorded from then on
    _Atomic uint32_t traced;    // 1: somebody traces it, and nothing is recorded from then on
    _Atomic uint32_t unobserved_children;
    _Atomic uint32_t arming; // 1: the recorder writes traps, unless it finds one of the above
};

struct record_module {
    uint64_t bias;
    uint32_t reason;
    uint32_t reserved;
    char path[RECORD_FILE_PATH_BYTES];
};

struct record_site {
    _Atomic uint64_t hits;
    uint64_t address;             // 0: not placed
    _Atomic uint64_t armed_until; // so many hits
    _Atomic uint32_t records;
    _Atomic uint32_t armed;
    uint32_t first;              // site by which this address is armed
    _Atomic uint32_t disarmed;   // 1: it once was
    uint32_t bytes;              // of the instruction
    uint8_t old[PLAN_OLD_BYTES]; // what it was
    uint8_t is_trap;             // else it is a jump, and nothing is recorded
    uint8_t padding;
};

struct record {
    uint32_t site, thread;
    uint64_t order; // CLOCK_MONOTONIC in ns; written last
    uint64_t hit;
    union {
        uint64_t registers[REGISTERS];
        char file[REGISTERS * sizeof(uint64_t)]; // of sites with SITE_FILE: what it could name, and zeros
    };
    uint64_t flags, memory_address, memory, after, memory_after, caller, vector;
};

// With room for so many records.
bool record_file_open(const char *folder, uint64_t capacity);
struct record_header *record_file_header(void);
struct record_site *record_file_site(uint32_t site);
// Notes where a module is, and why nothing is seen in it.
void record_file_note_module(const struct module *module, enum probes_reason reason);
// NULL when there is no room.
struct record *record_file_new(void);

// Until the recorder has seen that it shall write no traps any more; not for ever, as it may be gone.
void record_file_wait_for_recorder(void);

// In a child whose memory is a copy of its parent's, before it has a file of its own: fork() tells us of it, the system
// call does not.
bool record_file_is_parents(void);
// Gives the child its own. False: it cannot be made, and the parent's says so.
bool record_file_after_fork_in_child(void);

#endif
