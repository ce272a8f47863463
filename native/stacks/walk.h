// Whole stacks of another process.
#ifndef WHYPERF_WALK_H
#define WHYPERF_WALK_H

#include "sampler/session.h"
#include "stacks/process.h"
#include "stacks/remote.h"
#include "unwind/frame_pointer.h"

// Beside `enum whyperf_cut`, as CUT_REASONS numbers it: the thread went on before its stack could be read.
enum { CUT_WENT_ON = 10 };

struct walk {
    uint64_t pcs[WHYPERF_MAX_FRAMES]; // innermost first
    uint32_t depth;
    int cut;              // enum whyperf_cut, or CUT_WENT_ON
    bool missed_a_module; // an address was in no known one
};

// How far above sp the frame pointer of a function was found, by the place it was needed at.
enum { FRAME_DISTANCES = 1024 };
struct frame_distances {
    struct {
        uint64_t place;
        uint32_t distance;
    } found[FRAME_DISTANCES];
};

struct stack_access {
    unwind_read_fn read;
    unwind_returns_fn returns; // NULL: the code is not at hand
    void *context;             // of both
};

// With all registers known.
void walk_registers(const struct unwind_modules *modules, const struct unwind_registers *registers,
                    const struct stack_access *access, struct walk *walk);

// A blocked thread, of which the kernel tells sp and pc only. Frames that need fp before any inner frame has saved
// it are found by searching the stack for a return address whose call leads to the function at hand. `window` holds the
// stack from `sp` on.
void walk_blocked(const struct process *process, struct frame_distances *distances, struct remote_window *window,
                  uint64_t sp, uint64_t pc, struct walk *walk);

#endif
