// What is open in each thread.
#ifndef WHYPERF_DEPENDENCES_THREADS_H
#define WHYPERF_DEPENDENCES_THREADS_H

#include "dependences/decoder/regions.h"

// An open loop, iteration or arm.
struct open {
    uint32_t region;
    int32_t ipdom;  // of an arm
    int32_t branch; // of an arm: the block that branched
    int32_t loop;   // of a loop or iteration
    uint32_t iterations;
    uint8_t kind;
};

struct frame {
    uint32_t region;
    size_t base; // of the thread's open regions, the first that is this frame's
    uint32_t site, event;
    uint32_t call;     // the last call's event
    int32_t branch;    // block whose branch was executed last, -1: none since the last block began
    uint32_t branched; // its event
    size_t heap;       // its heap call + 1
    uint8_t kind;
};

struct thread {
    struct column frames, opens;
    uint64_t instructions;
};

struct thread *threads_get(struct regions *regions, uint32_t number);
struct frame *thread_frame(struct thread *thread);
struct open *thread_open(struct thread *thread, const struct frame *frame);
uint32_t thread_region(struct thread *thread);

struct region *region_add(struct regions *regions, uint8_t kind, uint32_t parent, int32_t place, int32_t arm,
                          uint32_t event, uint32_t first);
// Opens a frame for an activation, a thread or a signal.
struct frame *frame_add(struct regions *regions, struct thread *thread, uint8_t kind, uint32_t region);
struct open *open_add(struct regions *regions, struct thread *thread, struct open open);

#endif
