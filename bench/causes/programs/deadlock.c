// Two threads take two mutexes. Stalled: one of them in the other order.
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static int stalled;

__attribute__((noinline)) static void transfer(pthread_mutex_t *first, pthread_mutex_t *second, int at_once) {
    if (at_once)
        pthread_barrier_wait(&both);
    pthread_mutex_lock(first);
    if (at_once)
        pthread_barrier_wait(&both);
    usleep(2000);
    pthread_mutex_lock(second);
    usleep(500);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *post(void *unused) {
    (void)unused;
    for (int turn = 0; turn < 60; turn++) {
        transfer(&accounts, &journal, stalled && turn == 20);
        usleep(3000);
    }
    return NULL;
}

static void *audit(void *unused) {
    (void)unused;
    for (int turn = 0; turn < 60; turn++) {
        if (stalled && turn == 20)
            transfer(&journal, &accounts, 1);
        else
            transfer(&accounts, &journal, 0);
        usleep(3000);
    }
    return NULL;
}

int main(int argc, char **argv) {
    stalled = argc > 1 && !strcmp(argv[1], "stalled");
    pthread_t one, other;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&one, NULL, post, NULL);
    pthread_create(&other, NULL, audit, NULL);
    pthread_setname_np(one, "post");
    pthread_setname_np(other, "audit");
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
