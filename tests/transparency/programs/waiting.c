// Calls that a signal would cut short, in threads that wait while others work: none may return early.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include "work.h"

static _Atomic int interrupted, early, stop;

static void check(int returned, double began, double wanted) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double took = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - began;
    interrupted += returned < 0 && errno == EINTR;
    early += took < wanted - 0.001;
}

static void *wait_in_turn(void *nothing) {
    int pair[2], epoll = epoll_create1(EPOLL_CLOEXEC);
    MUST(pipe(pair) == 0 && epoll >= 0);
    sem_t never;
    sem_init(&never, 0, 0);
    for (int round = 0; round < 40; round++) {
        struct timespec now, tick = {0, 15000000}, until;
        struct pollfd wait = {pair[0], POLLIN, 0};
        struct epoll_event event;
        struct timeval left = {0, 15000};
        clock_gettime(CLOCK_MONOTONIC, &now);
        double began = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
        burn_steps(200000);
        switch (round % 5) {
        case 0:
            check(poll(&wait, 1, 15), began, 0.015);
            break;
        case 1:
            check(epoll_wait(epoll, &event, 1, 15), began, 0.015);
            break;
        case 2:
            check(nanosleep(&tick, NULL), began, 0.015);
            break;
        case 3:
            check(select(0, NULL, NULL, NULL, &left), began, 0.015);
            break;
        default:
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 15000000;
            if (until.tv_nsec >= 1000000000) {
                until.tv_sec++;
                until.tv_nsec -= 1000000000;
            }
            check(sem_timedwait(&never, &until), began, 0.0);
        }
    }
    return nothing;
}

static void *work(void *nothing) {
    while (!stop) {
        burn_steps(10000);
    }
    return nothing;
}

int main(void) {
    pthread_t waiters[8], worker;
    MUST(pthread_create(&worker, NULL, work, NULL) == 0);
    for (int i = 0; i < 8; i++) {
        MUST(pthread_create(&waiters[i], NULL, wait_in_turn, NULL) == 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(waiters[i], NULL);
    }
    stop = 1;
    pthread_join(worker, NULL);
    printf("interrupted=%d early=%d\n", interrupted, early);
    return 0;
}
