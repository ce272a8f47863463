// How functions are called, and how the structures lie in memory that they know of.
#ifndef WHYPERF_DEBUGINFO_LAYOUTS_H
#define WHYPERF_DEBUGINFO_LAYOUTS_H

#include "debuginfo/extract.h"

#include <stddef.h>

struct layouts_request {
    struct extract_request binary; // first: requests are run as such
    const uint64_t *entries;       // addresses of functions
    size_t count;
};

// Writes text: for each function a line `F ADDRESS<tab>RESULT<tab>PARAMETER<tab>...`, each parameter `TYPE NAME PLACE`
// (`...` for those of a variable number), then a line `T NAME<tab>LAYOUT` for each structure, union or class that can
// be reached from its variables.
bool extract_layouts(void *request, int output);

#endif
