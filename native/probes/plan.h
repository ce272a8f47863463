// A plan: which instructions of one build of a module are replaced, and the code that they lead to instead.
//
// Made by whyperf/debuginfo/probes (Python), which has the same numbers in plan_file.py. A plan can only have calls and
// jumps lead to its own stubs: the bytes that are written into the program's code follow from `kind`, not from the
// file. In the file: the header, then patches, fixes, increments, stubs and sites. Sites are for whoever reads the
// counts; the target has no use for them.
#ifndef WHYPERF_PROBES_PLAN_H
#define WHYPERF_PROBES_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/reasons.h"

#define PLAN_MAGIC "WPPROBES"

enum {
    PLAN_VERSION = 2,
    PLAN_BUILD_ID_BYTES = 20,
    PLAN_OLD_BYTES = 14, // of the longest stretch that one patch replaces
    PLAN_FIX_BYTES = 4,
    PLAN_MOST_BYTES = 1 << 30,
};

enum plan_flags {
    PLAN_TAKES_REGISTER = 1, // the module's own code uses the register by which threads find their counters
    PLAN_HAS_TRAPS = 2,      // or forces jumps: for libraries that do that
};

enum patch_kind {
    PATCH_DISTANCE, // a call or jump by distance stays what it is, and now leads to the stub
    PATCH_CALL,     // becomes a call of the same length, so that it returns to where it did
    PATCH_JUMP,     // becomes a jump; what it does not need becomes no operation
    PATCH_TRAP,     // becomes a trap, whose handler goes on in the stub, or puts the instruction back
    PATCH_ALWAYS,   // a conditional jump becomes one that is always taken
    PATCH_NEVER,    // ... one that is never taken
    PATCH_AS_IS,    // ... is written again as it is
};

struct plan_header {
    char magic[8];
    uint32_t checksum; // CRC-32 of the rest up to the sites
    uint32_t version;
    uint8_t build_id[PLAN_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    uint32_t patches, fixes, increments, counters, stub_bytes, sites;
    uint32_t flags;
    uint32_t planner;        // version of what planned it, for the cache
    uint32_t sites_checksum; // CRC-32 of the sites
    uint32_t machine;        // as ELF numbers it
};

struct plan_patch {
    uint32_t at;   // ELF virtual address
    uint32_t stub; // offset in the stubs
    uint8_t size;
    uint8_t kind;
    uint8_t old[PLAN_OLD_BYTES];
};

struct plan_increment {
    uint32_t at; // offset in the stubs
    uint32_t counter;
};

struct plan_site {
    uint32_t bytes[6];
};

// Distances in the stubs are as if they began at the module's ELF virtual address 0.
struct plan {
    const struct plan_header *header;
    const struct plan_patch *patches;
    const uint32_t *fixes; // offsets in the stubs of distances to the module, or of instructions with one
    const struct plan_increment *increments;
    const uint8_t *stubs;
    size_t bytes; // of the file
};

// Maps and checks FOLDER/BUILDID.plan. `plan` is only valid if there is no reason against it.
enum probes_reason plan_open(const char *folder, const uint8_t *build_id, uint32_t build_id_bytes, struct plan *plan);
// The flags of that plan, unchecked; 0 if there is none.
uint32_t plan_flags(const char *folder, const uint8_t *build_id, uint32_t build_id_bytes);
void plan_close(struct plan *plan);

// For files that come with a plan: the path of FOLDER/BUILDID.SUFFIX, and a file's content; NULL if there is none.
bool plan_beside(char *path, const char *folder, const uint8_t *build_id, uint32_t bytes, const char *suffix);
const void *plan_mapped(const char *path, size_t *bytes);

#endif
