// When each basic block of a module was entered first, and when conditional jumps went each way first, in a file that
// outlives the process. A child by fork() writes to its parent's: there is one mark for all.
// whyperf/collect/blocks/marks.py has the same numbers.
#ifndef WHYPERF_BLOCKS_MARKS_H
#define WHYPERF_BLOCKS_MARKS_H

#include <stdatomic.h>
#include <stdint.h>

#include "probes/plan.h"

#define MARKS_MAGIC "WPBLOCKS"

// Of files there are so many at most, and together they take so many bytes at most.
enum { MARKS_VERSION = 2, MARKS_FILES = 256, MARKS_BYTES = 1 << 30 };

// Times are of CLOCK_MONOTONIC in ns; 0: never.
struct mark {
    _Atomic uint64_t entered; // the block, or the jump
    _Atomic uint64_t taken, passed;
    _Atomic uint64_t hits; // of a jump's trap
};

struct marks {
    char magic[8];
    uint32_t version;
    uint32_t blocks;
    uint8_t build_id[PLAN_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    uint32_t plan_checksum;
    _Atomic uint32_t ended; // 1: traps were taken out before the process ended, or could not be put in
    struct mark of[];
};

// With one mark for each patch of the plan. NULL: there is no room, or there are files enough.
struct marks *marks_new(const char *folder, const struct plan *plan);
void marks_release(struct marks *marks);

#endif
