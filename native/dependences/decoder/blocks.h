// Loops, iterations and arms within one activation.
#ifndef WHYPERF_DEPENDENCES_BLOCKS_H
#define WHYPERF_DEPENDENCES_BLOCKS_H

#include "dependences/decoder/threads.h"

// Control arrived at the first instruction of `block`; `event` is its number.
void blocks_arrive(struct regions *regions, struct thread *thread, int32_t block, uint32_t event);
// Control jumped out of the function from its last branch: the arm stays open for what was jumped to.
void blocks_jump_out(struct regions *regions, struct thread *thread, uint32_t next_event);

#endif
