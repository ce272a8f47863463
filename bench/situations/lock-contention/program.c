// Four threads account for orders. With "one" they share a lock, and hold it while they ask for the order's price.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ORDERS = 120 };

static pthread_mutex_t locks[THREADS];
static int is_shared, asking[THREADS], answering[THREADS];
static uint64_t totals[THREADS];

static void *quote(void *number) {
    uint64_t order;
    while (read(answering[(intptr_t)number], &order, sizeof order) == sizeof order) {
        struct timespec market = {.tv_nsec = 2000000};
        nanosleep(&market, NULL);
        order *= 3;
        if (write(answering[(intptr_t)number], &order, sizeof order) < 0)
            break;
    }
    return NULL;
}

static uint64_t ask_price(int thread, uint64_t order) {
    uint64_t price = 0;
    if (write(asking[thread], &order, sizeof order) < 0)
        return 0;
    return read(asking[thread], &price, sizeof price) == sizeof price ? price : 0;
}

static uint64_t weigh(uint64_t order) {
    uint64_t value = order;
    for (int step = 0; step < 150000; step++)
        value = value * 6364136223846793005u + 1442695040888963407u;
    return value;
}

static void account(int thread, uint64_t order) {
    pthread_mutex_t *lock = &locks[is_shared ? 0 : thread];
    pthread_mutex_lock(lock);
    totals[thread] += ask_price(thread, order);
    pthread_mutex_unlock(lock);
    totals[thread] ^= weigh(order);
}

static void *serve(void *number) {
    for (uint64_t order = 0; order < ORDERS; order++)
        account((int)(intptr_t)number, order);
    return NULL;
}

int main(int count, char **words) {
    is_shared = count > 1 && !strcmp(words[1], "one");
    pthread_t threads[THREADS], market;
    for (intptr_t at = 0; at < THREADS; at++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
            return 1;
        asking[at] = ends[0];
        answering[at] = ends[1];
        pthread_mutex_init(&locks[at], NULL);
        pthread_create(&market, NULL, quote, (void *)at);
    }
    for (intptr_t at = 0; at < THREADS; at++)
        pthread_create(&threads[at], NULL, serve, (void *)at);
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    printf("%llu\n", (unsigned long long)(totals[0] ^ totals[1] ^ totals[2] ^ totals[3]));
    return 0;
}
