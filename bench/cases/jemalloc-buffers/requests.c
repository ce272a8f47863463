/* Two threads answer requests. Each needs some buffers of a given size for a while. */
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 6, USED = 1024 };

static size_t size;
static int requests;

static void *answer(void *place) {
    unsigned sum = 0;
    for (int i = 0; i < requests; i++) {
        unsigned char *buffers[BUFFERS];
        for (int j = 0; j < BUFFERS; j++) {
            buffers[j] = je_malloc(size);
            if (!buffers[j])
                exit(1);
            memset(buffers[j], i + j, USED);
        }
        for (int j = 0; j < BUFFERS; j++) {
            for (int at = 0; at < USED; at += 8)
                sum = sum * 31 + buffers[j][at];
            je_free(buffers[j]);
        }
    }
    *(unsigned *)place = sum;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: requests BYTES COUNT\n");
        return 2;
    }
    size = (size_t)atol(argv[1]);
    requests = atoi(argv[2]);
    pthread_t threads[2];
    unsigned sums[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, answer, &sums[i]))
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%08x\n", sums[0] ^ (sums[1] * 31));
    return 0;
}
