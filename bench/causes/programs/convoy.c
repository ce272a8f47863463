// Workers append to a log under a mutex. Stalled: one of them flushes it to a slow reader while it holds the mutex.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static int stalled;
static unsigned long lines;

static void flush_to_reader(int slow) {
    int ends[2];
    char byte = 0;
    if (pipe(ends))
        return;
    if (fork() == 0) { // the reader of the log
        usleep(slow ? 1500000 : 1000);
        _exit(write(ends[1], &byte, 1) != 1);
    }
    if (read(ends[0], &byte, 1) == 1)
        lines++;
    close(ends[0]);
    close(ends[1]);
}

static void append_line(int flush, int slow) {
    pthread_mutex_lock(&log_mutex);
    lines++;
    if (flush)
        flush_to_reader(slow);
    pthread_mutex_unlock(&log_mutex);
}

static void *work(void *number) {
    for (int turn = 0; turn < 60; turn++) {
        int flushes = (long)number == 0 && turn % 20 == 10;
        append_line(flushes, stalled && turn == 30);
        usleep(5000);
    }
    return NULL;
}

int main(int argc, char **argv) {
    stalled = argc > 1 && !strcmp(argv[1], "stalled");
    pthread_t threads[4];
    for (long number = 0; number < 4; number++) {
        char name[16];
        pthread_create(&threads[number], NULL, work, (void *)number);
        snprintf(name, sizeof name, "%s", number ? "worker" : "flusher");
        pthread_setname_np(threads[number], name);
    }
    for (int number = 0; number < 4; number++)
        pthread_join(threads[number], NULL);
    printf("%lu\n", lines);
    return 0;
}
