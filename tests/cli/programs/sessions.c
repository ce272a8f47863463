// Threads serve requests: each asks a backend, looks its session up in a table under a lock, and composes a reply.
//     sessions fine|held REQUESTS      held: the lock is held while the backend is asked
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 4, SESSIONS = 64 };

static struct table {
    pthread_mutex_t lock;
    uint64_t seen[SESSIONS];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int next_request, requests, held;

__attribute__((noinline)) static void ask_backend(void) {
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
}

__attribute__((noinline)) static uint64_t compose_reply(int request, uint64_t seen) {
    char line[64];
    uint64_t sum = seen;
    for (int row = 0; row < 20; row++) {
        snprintf(line, sizeof line, "%d;%d", request, row);
        for (char *at = line; *at; at++)
            sum = sum * 31 + (unsigned char)*at;
    }
    return sum;
}

__attribute__((noinline)) static uint64_t serve(int request) {
    if (!held)
        ask_backend();
    pthread_mutex_lock(&table.lock);
    if (held)
        ask_backend();
    uint64_t seen = ++table.seen[request % SESSIONS];
    pthread_mutex_unlock(&table.lock);
    return compose_reply(request, seen);
}

static void *work(void *sum) {
    for (int request; (request = __atomic_fetch_add(&next_request, 1, __ATOMIC_RELAXED)) < requests;)
        *(uint64_t *)sum += serve(request);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    uint64_t sums[THREADS] = {0}, total = 0;
    held = argc > 1 && !strcmp(argv[1], "held");
    requests = argc > 2 ? atoi(argv[2]) : 400;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &sums[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        total += sums[i];
    }
    printf("%llx\n", (unsigned long long)total);
    return 0;
}
