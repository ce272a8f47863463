// The walk up a thread's stack, from the interrupted instruction to the outermost frame.
#ifndef WHYPERF_WALK_H
#define WHYPERF_WALK_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "sampler/session.h"
#include "unwind/unwind.h"
#include "values/capture.h"

// What is known of an address that walks have met before. Callers are mostly the same from sample to sample, while the
// tables that say this have long left the cache by then: one line here instead of a dozen there.
struct known_frame {
    alignas(64) uint64_t looked_up; // 0: nothing
    struct unwind_row row;
    uint64_t bias;
    const struct values_plan *plan; // NULL: no variables
    bool is_of_program;
    uint8_t lacks; // why there is no row, an enum whyperf_cut; 0: there is one
    bool is_code;  // though there is no row
};

// A frame of the latest walk: the next one will most likely meet it again.
struct remembered_frame {
    const struct known_frame *known;
    const struct values_plan *plan;
    uint64_t cfa;
};

enum { KNOWN_FRAMES = 256, REMEMBERED_FRAMES = 20, PAGE_BYTES = 4096, CACHE_LINE = 64 };

// A thread's room for walking.
struct walk_memory {
    uint64_t generation; // of the modules that `known` is about
    uint32_t remembered_count;
    struct remembered_frame remembered[REMEMBERED_FRAMES];
    uint64_t pcs[WHYPERF_MAX_FRAMES];
    struct known_frame known[KNOWN_FRAMES];
    struct values_capture capture;
    alignas(PAGE_BYTES) unsigned char page[PAGE_BYTES]; // copy of a page that is not known to be mapped
};

struct walk {
    uint32_t frames;
    int cut;
    bool missed_a_module; // an address was in no known one
};

struct walk_request {
    const ucontext_t *context;
    const struct unwind_registers *from; // where there is no context: registers in our own code, whose frames are
                                         // passed over
    uint32_t values_depth;
    bool no_stack;
    bool no_values;   // whatever the session wants
    bool with_others; // variables' targets as well
};

// Asks for the lines that the walk will most likely need, so that they come while other things are done.
void walk_prefetch_in_signal(const ucontext_t *context);
// Leaves the addresses in `pcs`, and what its variables are told from in `capture`.
struct walk walk_in_signal(const struct walk_request *request);

#endif
