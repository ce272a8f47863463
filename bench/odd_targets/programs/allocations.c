// Threads that allocate, grow, align and free, for programs with another allocator; some memory is freed elsewhere.
#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "work.h"

enum { SLOTS = 256 };

static void *work(void *seed) {
    unsigned state = (unsigned)(size_t)seed;
    void *slots[SLOTS] = {0};
    for (int i = 0; i < 60000; i++) {
        state = state * 1664525u + 1013904223u;
        unsigned at = state >> 24, size = 1 + (state >> 8) % 4000;
        if (state % 3 == 0) {
            slots[at] = realloc(slots[at], size);
        } else {
            free(slots[at]);
            slots[at] = state % 7 ? malloc(size) : aligned_alloc(64, (size + 63) / 64 * 64);
        }
        MUST(slots[at]);
        memset(slots[at], (int)at, size);
    }
    for (int i = 1; i < SLOTS; i++) {
        free(slots[i]);
    }
    return slots[0] ? slots[0] : malloc(1);
}

int main(void) {
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        MUST(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    }
    for (int i = 0; i < 4; i++) {
        void *left;
        pthread_join(threads[i], &left);
        MUST(malloc_usable_size(left) > 0);
        free(left);
    }
    printf("freed\n");
    return 0;
}
