// runtime REQUESTS [wide|narrow]: serves requests of a script; `wide` puts the heap where 64-bit systems have it,
// `narrow` where 32-bit systems do; else it is where the build says.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

#ifndef HEAP_BASE
#define HEAP_BASE 0x200000000000
#endif

enum { COLLECT_AFTER = 192 << 10 };

static uintptr_t base_called(const char *layout) {
    if (strcmp(layout, "wide") == 0) {
        return 0x200000000000;
    }
    if (strcmp(layout, "narrow") == 0) {
        return 0x20000000;
    }
    fprintf(stderr, "runtime: a heap is wide or narrow, not %s\n", layout);
    exit(2);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: runtime REQUESTS [wide|narrow]\n");
        return 2;
    }
    uintptr_t base = argc == 3 ? base_called(argv[2]) : HEAP_BASE;
    heap_open(base, (size_t)MOST_SPANS * SPAN_BYTES);
    frames_open();
    load_routes(0x20000000);
    struct script_state state;
    script_open(&state);
    uint32_t requests = (uint32_t)atol(argv[1]);
    for (uint32_t number = 0; number < requests; number++) {
        script_request(&state, number);
        if (heap.since_collection >= COLLECT_AFTER) {
            collect_garbage(&state.journal);
        }
    }
    printf("heap %zu collections %lu marked %lu freed %lu digest %016lx\n", heap_size, collections.count,
           collections.marked, collections.freed, state.digest);
    script_close(&state);
    return 0;
}
