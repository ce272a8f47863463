// What is recorded or forced at the patches of one plan: BUILDID.sites, beside BUILDID.plan.
//
// Made by whyperf/collect/observation/plans.py, which has the same numbers. In the file: the header, rows in the order
// of their patches, and the values that are forced.
#ifndef WHYPERF_OBSERVATION_SITE_FILE_H
#define WHYPERF_OBSERVATION_SITE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/plan.h"

#define SITE_FILE_MAGIC "WPOBSERV"

enum {
    SITE_FILE_VERSION = 2,
    SITE_MOST = 4096,         // sites of a run
    SITE_MOST_VALUES = 65536, // forced ones of a run
    SITE_NOWHERE = 0xffffffff,
};

enum site_flags {
    SITE_MEMORY = 1,
    SITE_HAS_BASE = 2, // without one, the displacement is an address of the file
    SITE_HAS_INDEX = 4,
    SITE_ENTRY = 8,     // of a function: the return address is recorded
    SITE_REGISTER = 16, // one register is recorded once more behind the instruction
    SITE_FORCED = 32,
    SITE_VECTOR = 64,  // one vector register is recorded as well, before the instruction
    SITE_FILE = 128,   // in place of registers the path of an open file: register `watched` holds its descriptor
    SITE_STREAM = 256, // or, with this one too, its FILE *
};

struct site_file_header {
    char magic[8];
    uint32_t checksum; // CRC-32 of the rest
    uint32_t version;
    uint32_t plan_checksum;
    uint32_t rows, values;
    uint32_t records; // of a site, before it is recorded half as often
    uint32_t traps;   // of a site, before it is disarmed
    uint32_t reserved;
};

struct site_row {
    uint32_t patch; // of the plan
    uint32_t site;  // of the run
    uint32_t after; // offset in the stubs of the trap behind the instruction; SITE_NOWHERE: none
    uint32_t flags;
    int64_t displacement;
    uint32_t first_value, values; // one: every time; several: the n-th at the n-th hit; none: its own is written back
    uint8_t base, index, scale, memory_bytes;
    uint8_t watched;              // register, or a vector register from VECTOR on
    uint8_t forced, forced_bytes; // register
    uint8_t vector;               // register, from 0
};

struct site_file {
    const struct site_file_header *header;
    const struct site_row *rows;
    const uint64_t *values;
    uint64_t bytes;
};

// Maps and checks FOLDER/BUILDID.sites of a plan that is open.
enum probes_reason site_file_open(const char *folder, const struct plan *plan, struct site_file *file);
void site_file_close(struct site_file *file);

#endif
