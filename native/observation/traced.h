// Somebody who traces this process would get our traps: they would stop it, or end it.
#ifndef WHYPERF_OBSERVATION_TRACED_H
#define WHYPERF_OBSERVATION_TRACED_H

#include <stdbool.h>

bool traced_now(void);
// Has `before` called when this process asks its parent to trace it.
void traced_watch(void (*before)(void));

#endif
