// The programs by name, and what is missing where one cannot be loaded.
#ifndef WHYPERF_TRACER_PROGRAMS_H
#define WHYPERF_TRACER_PROGRAMS_H

#include "tracer/record.h"

#include <stddef.h>

struct tracer_program {
    const char *name;
    u32 kind;            // that it records; 0: it helps others
    const char *records; // as in EventKind, or in words
    const char *instead; // a program that does the same on other kernels
};

// NULL for an unknown one.
const struct tracer_program *tracer_program(const char *name);

#endif
