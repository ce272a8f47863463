// A pool of three threads does short jobs. With "shared" long fetches go into the same pool and take its threads.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { THREADS = 3, JOBS = 400, FETCHES = 24, ROOM = 1024 };

typedef void (*work)(int);
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    work jobs[ROOM];
    int arguments[ROOM], first, last, is_closed;
} queue;

static queue pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static queue fetches = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_changed = PTHREAD_COND_INITIALIZER;
static int done;
static volatile uint64_t sum;

static void put(queue *into, work job, int argument) {
    pthread_mutex_lock(&into->lock);
    into->jobs[into->last] = job;
    into->arguments[into->last++] = argument;
    pthread_cond_signal(&into->changed);
    pthread_mutex_unlock(&into->lock);
}

static void *work_off(void *from) {
    queue *own = from;
    for (;;) {
        pthread_mutex_lock(&own->lock);
        while (own->first == own->last && !own->is_closed)
            pthread_cond_wait(&own->changed, &own->lock);
        if (own->first == own->last) {
            pthread_mutex_unlock(&own->lock);
            return NULL;
        }
        int at = own->first++;
        pthread_mutex_unlock(&own->lock);
        own->jobs[at](own->arguments[at]);
    }
}

static void render(int page) {
    uint64_t value = (uint64_t)page;
    for (int step = 0; step < 300000; step++)
        value = value * 6364136223846793005u + 1442695040888963407u;
    sum ^= value;
    pthread_mutex_lock(&done_lock);
    done++;
    pthread_cond_signal(&done_changed);
    pthread_mutex_unlock(&done_lock);
}

static void fetch_remote(int which) {
    (void)which;
    struct timespec answer = {.tv_nsec = 300000000};
    nanosleep(&answer, NULL);
}

static void *fetch_apart(void *unused) {
    work_off(&fetches);
    return unused;
}

int main(int count, char **words) {
    int is_shared = count > 1 && !strcmp(words[1], "shared");
    pthread_t threads[THREADS], apart[FETCHES];
    for (int at = 0; at < FETCHES; at++)
        pthread_create(&apart[at], NULL, fetch_apart, NULL);
    for (int at = 0; at < THREADS; at++)
        pthread_create(&threads[at], NULL, work_off, &pool);
    for (int at = 0; at < FETCHES; at++)
        put(is_shared ? &pool : &fetches, fetch_remote, at);
    for (int at = 0; at < JOBS; at++)
        put(&pool, render, at);
    pthread_mutex_lock(&done_lock);
    while (done < JOBS)
        pthread_cond_wait(&done_changed, &done_lock);
    pthread_mutex_unlock(&done_lock);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
