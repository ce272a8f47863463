// runtime LAYOUT REQUESTS: serves requests of a script; LAYOUT `wide` puts the heap where 64-bit systems have it,
// `narrow` where 32-bit systems do.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

enum { COLLECT_AFTER = 192 << 10 };

int main(int argc, char **argv) {
    if (argc != 3 || (strcmp(argv[1], "wide") != 0 && strcmp(argv[1], "narrow") != 0)) {
        fprintf(stderr, "usage: runtime wide|narrow REQUESTS\n");
        return 2;
    }
    uintptr_t base = strcmp(argv[1], "wide") == 0 ? 0x200000000000 : 0x20000000;
    heap_open(base, (size_t)MOST_SPANS * SPAN_BYTES);
    frames_open();
    load_routes(0x20000000);
    struct script_state state;
    script_open(&state);
    uint32_t requests = (uint32_t)atol(argv[2]);
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
