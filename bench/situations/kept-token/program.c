// Eight threads pass one token: who holds it may use the table. Four carry messages, four scan it in parts.
// With "keep" a scanning thread keeps the token while it computes; with "give" it gives the token back before that.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CARRIERS = 4, SCANNERS = 4, MESSAGES = 190, PARTS = 8, CELLS = 4096 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static unsigned long next_ticket, now_served;
static uint64_t table[CELLS], found[SCANNERS];
static int is_kept;

// Tokens are given in the order in which they were asked for.
static __attribute__((noinline)) void take_token(void) {
    pthread_mutex_lock(&guard);
    unsigned long ticket = next_ticket++;
    while (ticket != now_served)
        pthread_cond_wait(&turn, &guard);
    pthread_mutex_unlock(&guard);
}

static __attribute__((noinline)) void give_token(void) {
    pthread_mutex_lock(&guard);
    now_served++;
    pthread_cond_broadcast(&turn);
    pthread_mutex_unlock(&guard);
}

static __attribute__((noinline)) uint64_t compute(uint64_t seed) {
    uint64_t value = seed;
    for (int step = 0; step < 10000000; step++)
        value = value * 6364136223846793005u + 1442695040888963407u;
    return value;
}

static __attribute__((noinline)) uint64_t scan_part(int part) {
    take_token();
    uint64_t seed = table[part];
    if (!is_kept)
        give_token();
    uint64_t value = compute(seed);
    if (is_kept)
        give_token();
    return value;
}

static void *scan(void *number) {
    for (int part = 0; part < PARTS; part++)
        found[(intptr_t)number] += scan_part(part * SCANNERS + (int)(intptr_t)number);
    return NULL;
}

static __attribute__((noinline)) void carry_message(int carrier, int message) {
    struct timespec device = {.tv_nsec = 2500000};
    nanosleep(&device, NULL);
    take_token();
    table[CELLS / 2 + carrier] += (uint64_t)message;
    give_token();
}

static void *carry(void *number) {
    for (int message = 0; message < MESSAGES; message++)
        carry_message((int)(intptr_t)number, message);
    return NULL;
}

int main(int count, char **words) {
    is_kept = count > 1 && !strcmp(words[1], "keep");
    for (uint64_t cell = 0; cell < CELLS; cell++)
        table[cell] = cell;
    pthread_t threads[CARRIERS + SCANNERS];
    for (intptr_t at = 0; at < SCANNERS; at++)
        pthread_create(&threads[at], NULL, scan, (void *)at);
    for (intptr_t at = 0; at < CARRIERS; at++)
        pthread_create(&threads[SCANNERS + at], NULL, carry, (void *)at);
    for (int at = 0; at < CARRIERS + SCANNERS; at++)
        pthread_join(threads[at], NULL);
    printf("%llu\n", (unsigned long long)(found[0] + found[1] + found[2] + found[3] + table[CELLS / 2]));
    return 0;
}
