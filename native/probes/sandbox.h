// Programs that sandbox themselves (seccomp): from that moment on we make no system call.
#ifndef WHYPERF_PROBES_SANDBOX_H
#define WHYPERF_PROBES_SANDBOX_H

#include <stdbool.h>

bool sandbox_forbids_system_calls(void);

// Has `before` called right before that.
void sandbox_watch(void (*before)(void));

#endif
