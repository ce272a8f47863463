// A worker answers requests through a condition variable. Stalled: a malformed request takes a path without the signal.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, answered = PTHREAD_COND_INITIALIZER;
static int request, answer; // 0: none, negative: malformed

__attribute__((noinline)) static int compute(int what) {
    volatile int sum = 0;
    for (int i = 0; i < 400000; i++)
        sum += what ^ i;
    return sum | 1;
}

__attribute__((noinline)) static void publish(int value) {
    pthread_mutex_lock(&mutex);
    answer = value;
    pthread_cond_signal(&answered);
    pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void reject(int what) {
    dprintf(2, "malformed: %d\n", what); // and nobody is told
}

static void *worker(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (!request)
            pthread_cond_wait(&asked, &mutex);
        int what = request;
        request = 0;
        pthread_mutex_unlock(&mutex);
        int value = compute(what);
        if (what < 0)
            reject(what);
        else
            publish(value);
    }
    return NULL;
}

__attribute__((noinline)) static int ask(int what) {
    pthread_mutex_lock(&mutex);
    request = what;
    answer = 0;
    pthread_cond_signal(&asked);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 3;
    while (!answer && !pthread_cond_timedwait(&answered, &mutex, &until))
        ;
    int got = answer;
    pthread_mutex_unlock(&mutex);
    return got;
}

int main(int argc, char **argv) {
    int stalled = argc > 1 && !strcmp(argv[1], "stalled");
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_setname_np(thread, "worker");
    usleep(20000);
    int failed = 0;
    for (int turn = 1; turn <= 60; turn++) {
        failed += !ask(stalled && turn == 40 ? -turn : turn);
        usleep(3000);
    }
    printf("%d failed\n", failed);
    return 0;
}
