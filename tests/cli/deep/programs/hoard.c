// Asks for memory in every way that there is, 1000 bytes a time, and gives all but the first of each back.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noipa))

APART void *by_posix_memalign(void) {
    void *found = NULL;
    return posix_memalign(&found, 64, 1000) ? NULL : found;
}

APART void *in_vain(void) {
    void *found = NULL;
    return posix_memalign(&found, 3, 1000) ? NULL : found;
}

APART void *by_memalign(void) {
    return memalign(64, 1000);
}

APART void *by_aligned_alloc(void) {
    return aligned_alloc(64, 1000);
}

APART void *by_reallocarray(void) {
    void *found = malloc(10);
    return reallocarray(found, 10, 100);
}

APART void *by_calloc(void) {
    return calloc(10, 100);
}

APART void *by_strdup(void) {
    char text[1000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    return strdup(text);
}

int main(void) {
    static void *(*const ways[])(void) = {by_posix_memalign, in_vain,   by_memalign, by_aligned_alloc,
                                          by_reallocarray,   by_calloc, by_strdup};
    static int asked;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (int time = 0; time < 3; time++) {
            void *found = ways[way]();
            asked += found != NULL;
            if (time)
                free(found);
        }
    printf("%d\n", asked);
    return 0;
}
