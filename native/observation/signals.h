// SIGTRAP is ours: it must always get through, and the program must not notice that.
#ifndef WHYPERF_OBSERVATION_SIGNALS_H
#define WHYPERF_OBSERVATION_SIGNALS_H

#include <stdbool.h>

bool signals_take_trap(void);
// A new thread, whose attributes may ask for any mask.
void signals_begin_thread(void);

#endif
