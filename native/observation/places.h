// Where traps are in the running program, and what is done there.
#ifndef WHYPERF_OBSERVATION_PLACES_H
#define WHYPERF_OBSERVATION_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "observation/site_file.h"
#include "probes/modules.h"

// An instruction that was replaced.
struct place {
    uintptr_t at, stub;
    uintptr_t after; // the trap behind its moved copy; 0: none
    uintptr_t bias;
    const struct site_row *rows; // what is recorded there: at least one
    uint32_t row_count;
    uint64_t armed_for; // so many hits
    uint32_t record_limit;
    uint8_t old[PLAN_OLD_BYTES], put[PLAN_OLD_BYTES]; // the instruction, and what replaces it
    uint8_t bytes;
    bool is_trap;
};

// Puts everything into a module that its plan in `folder` says.
enum probes_reason places_put(const char *folder, const struct module *module);
// Whether that has been done, and is in effect.
bool places_are_in(const struct module *module);
// What is no longer loaded is forgotten: between the two, places_are_in and places_put tell what is.
void places_begin_look(void);
void places_end_look(void);

// In a signal handler. NULL: none of ours.
struct place *place_at(uintptr_t trap, bool *is_after);
// A trap that the recorder put where a place was, when the library that held it had just gone: the instruction is back.
bool place_was_at(uintptr_t trap);
// What is forced at the n-th hit: the one value, or the n-th of several. False: its own value stays.
bool place_value(const struct site_row *row, uint64_t hit, uint64_t *value);

// From now on the instruction runs as it was.
void place_disarm(struct place *place);
void places_disarm_all(void);
// In a child, whose code is its own: says which traps are there.
void places_after_fork_in_child(void);
// In a child that has no file of its own: no trap is there any more.
void places_leave_child(void);

#endif
