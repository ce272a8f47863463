// What happens at a trap.
#ifndef WHYPERF_OBSERVATION_TRAPS_H
#define WHYPERF_OBSERVATION_TRAPS_H

#include <signal.h>
#include <stdbool.h>

// False: the trap is none of ours.
bool trap_handled(void *context);

#endif
