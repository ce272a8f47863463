// A pool of two threads. Stalled: tasks wait for tasks of their own that no thread is left to run.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct task {
    void (*run)(struct task *);
    int done;
    struct task *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static struct task *head, **tail = &head;
static int stalled;

static void submit(struct task *task) {
    pthread_mutex_lock(&mutex);
    task->next = NULL;
    task->done = 0;
    *tail = task;
    tail = &task->next;
    pthread_cond_signal(&queued);
    pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void await_task(struct task *task) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 3;
    pthread_mutex_lock(&mutex);
    while (!task->done && !pthread_cond_timedwait(&finished, &mutex, &until))
        ;
    pthread_mutex_unlock(&mutex);
}

static void *pool_thread(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (!head)
            pthread_cond_wait(&queued, &mutex);
        struct task *task = head;
        head = task->next;
        if (!head)
            tail = &head;
        pthread_mutex_unlock(&mutex);
        task->run(task);
        pthread_mutex_lock(&mutex);
        task->done = 1;
        pthread_cond_broadcast(&finished);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void leaf(struct task *task) {
    (void)task;
    usleep(1000);
}

__attribute__((noinline)) static void outer(struct task *task) {
    (void)task;
    struct task *inner = calloc(1, sizeof *inner); // never freed: a thread may still have it
    inner->run = leaf;
    usleep(2000);
    submit(inner);
    await_task(inner);
}

int main(int argc, char **argv) {
    stalled = argc > 1 && !strcmp(argv[1], "stalled");
    pthread_t threads[2];
    for (int number = 0; number < 2; number++) {
        pthread_create(&threads[number], NULL, pool_thread, NULL);
        pthread_setname_np(threads[number], "pool");
    }
    usleep(10000);
    for (int turn = 0; turn < 40; turn++) {
        int both = stalled && turn == 30;
        struct task *tasks = calloc(2, sizeof *tasks);
        tasks[0].run = outer;
        tasks[1].run = both ? outer : leaf;
        submit(&tasks[0]);
        submit(&tasks[1]);
        await_task(&tasks[0]);
        await_task(&tasks[1]);
        usleep(2000);
    }
    return 0;
}
