// What differs between the processors that whyperf samples on, inside the watched program.
#ifndef WHYPERF_MACHINE_H
#define WHYPERF_MACHINE_H

#ifdef __aarch64__
#include "machine/aarch64.h"
#else
#include "machine/x86_64.h"
#endif

#endif
