// crowd THREADS SECONDS: all threads together use so many seconds of CPU, beside each other.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double each_s;
static pthread_barrier_t barrier;

static double used(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *work(void *nothing) {
    volatile unsigned long sum = 1;
    pthread_barrier_wait(&barrier);
    while (used() < each_s)
        for (int i = 0; i < 10000; i++)
            sum = sum * 6364136223846793005ul + 1;
    return nothing;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int count = atoi(argv[1]);
    each_s = atof(argv[2]) / count;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 3;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%d threads\n", count);
    free(threads);
    return 0;
}
