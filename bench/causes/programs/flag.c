// The main loop polls a flag that a worker sets when it has prepared the data. Stalled: preparing takes 2 s. Asleep: it
// sleeps for 5 s first, which takes as long on a busy machine.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int ready, stalled, asleep;

__attribute__((noinline)) static void prepare(double seconds) {
    static double used;
    // Steps between looks at the clock, which is a system call.
    for (struct timespec now = {0}; (double)now.tv_sec + (double)now.tv_nsec / 1e9 < used + seconds;) {
        for (volatile int step = 0; step < 1000000; step++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    }
    used += seconds;
}

static void *worker(void *unused) {
    (void)unused;
    for (int turn = 0; turn < 10; turn++) {
        while (ready)
            usleep(1000);
        if (asleep && turn == 6)
            sleep(5);
        prepare(stalled && turn == 6 ? 2.0 : 0.02);
        ready = 1;
    }
    return NULL;
}

__attribute__((noinline)) static void await_data(void) {
    while (!ready)
        usleep(1000);
}

int main(int argc, char **argv) {
    stalled = argc > 1 && !strcmp(argv[1], "stalled");
    asleep = argc > 1 && !strcmp(argv[1], "asleep");
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_setname_np(thread, "preparer");
    for (int turn = 0; turn < 10; turn++) {
        await_data();
        dprintf(1, "turn %d\n", turn);
        ready = 0;
    }
    pthread_join(thread, NULL);
    if (asleep)
        prepare(1.0); // enough samples to know the program's variables
    return 0;
}
