// Counters in a file of this process: they outlive it however it ends.
//
// The file has a header, a row for each module, and blocks. Each thread has a block of its own; in each, a module's
// counters are at the same place. A block that no thread counts in any more is taken over by the next one: what is read
// is the sum. whyperf/collect/counts/counter_files.py reads it.
#ifndef WHYPERF_PROBES_COUNTERS_H
#define WHYPERF_PROBES_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "probes/modules.h"
#include "probes/plan.h"

#define COUNTERS_MAGIC "WPCOUNTS"

enum {
    COUNTERS_VERSION = 1,
    COUNTERS_MODULES = 1024,
    COUNTERS_HEADER_BYTES = 4096,
    COUNTERS_PATH_BYTES = 976,
    COUNTERS_BLOCK_BYTES = 16 << 20, // two million counters; five times those of a compiler of 33 MB
};

enum counters_mode {
    COUNTERS_PER_THREAD = 0,
    COUNTERS_LOCKED = 1, // one block, counted with a locked increment
};

struct counters_header {
    char magic[8];
    uint32_t version;
    uint32_t mode;
    int32_t pid, parent;
    uint64_t start_ns; // CLOCK_MONOTONIC
    uint64_t block_bytes;
    _Atomic uint32_t blocks;
    _Atomic uint32_t modules;
    _Atomic uint32_t uncounted_threads; // and forks for which there was no block
    _Atomic uint32_t unwatched;         // 1: libraries that are loaded later are not noticed
    uint32_t forked;                    // 1: the counters are those of a fork's child
};

struct counters_module {
    uint8_t build_id[PLAN_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    uint32_t reason;
    uint32_t counters;
    uint32_t first; // in each block, in bytes
    uint32_t plan_checksum;
    uint64_t bias; // where it was loaded last
    char path[COUNTERS_PATH_BYTES];
};

// Makes the file in `folder`; false if it cannot be.
bool counters_open(const char *folder);
bool counters_are_open(void);
enum counters_mode counters_mode(void);
void counters_count_locked(void);
void counters_note_unwatched(void);

// All rows; NULL when the file is not open.
struct counters_module *counters_rows(void);
// The row of the module's build, made if there is none; NULL when there are too many.
struct counters_module *counters_row(const struct module *module);
// Sets aside room for a module's counters in all blocks.
enum probes_reason counters_reserve(struct counters_module *row, uint32_t counters);

// Maps a module's counters to a fixed place, for locked counting.
bool counters_map_at(const struct counters_module *row, void *where);

// Gives the calling thread a block; without one it counts in one that others may use, or where nobody looks.
void counters_begin_thread(uint8_t *creators_block);

void counters_before_fork(void);
void counters_after_fork_in_parent(void);
void counters_after_fork_in_child(void);

#endif
