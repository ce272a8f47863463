// What happens at a trap.
#ifndef WHYPERF_OBSERVATION_TRAPS_H
#define WHYPERF_OBSERVATION_TRAPS_H

#include <signal.h>
#include <stdbool.h>

// False: the trap is none of ours.
bool trap_handled(void *context);
// Until no thread handles one: a filter for all threads must not find them at a system call. Not for ever, as handlers
// of the program may leave an instruction for good between its two traps.
void traps_wait_for_handlers(void);
// No other thread is there.
void traps_begin_in_child(void);

#endif
