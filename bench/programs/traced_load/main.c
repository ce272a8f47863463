// Loads that a tracer has much to do with. `traced_load HOW SECONDS` waits for SIGUSR1, works and prints operations,
// CPU seconds and seconds.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int stop;

static double clock_now(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile double sink;

__attribute__((noinline)) static void work(int rounds) {
    double sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += i * 0.5;
    sink = sum;
}

static void end_later(double seconds) {
    struct itimerval timer = {{0, 0}, {(long)seconds, (long)((seconds - (double)(long)seconds) * 1e6)}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void wait_and_stop(double seconds) {
    struct timespec time = {(long)seconds, (long)((seconds - (double)(long)seconds) * 1e9)};
    nanosleep(&time, NULL);
    stop = 1;
}

static void end_now(int number) {
    (void)number;
    stop = 1;
}

// The cheapest system call, as often as possible.
static long system_calls(double seconds) {
    long done = 0;
    for (end_later(seconds); !stop; done += 100)
        for (int i = 0; i < 100; i++)
            syscall(SYS_getppid);
    return done;
}

static int there[2], back[2];

static void *echo(void *argument) {
    char byte;
    (void)argument;
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
        ;
    return NULL;
}

// Two threads on one CPU take turns: two switches an operation.
static long switches(double seconds) {
    cpu_set_t one;
    pthread_t thread;
    long done = 0;
    char byte = 0;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, echo, NULL))
        exit(1);
    for (end_later(seconds); !stop; done++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            break;
    return done;
}

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    int count;
    long done;
};

static void *produce(void *argument) {
    struct queue *queue = argument;
    while (!stop) {
        work(100);
        pthread_mutex_lock(&queue->mutex);
        while (queue->count && !stop)
            pthread_cond_wait(&queue->emptied, &queue->mutex);
        queue->count = 1;
        pthread_cond_signal(&queue->filled);
        pthread_mutex_unlock(&queue->mutex);
    }
    return NULL;
}

static void *consume(void *argument) {
    struct queue *queue = argument;
    while (!stop) {
        pthread_mutex_lock(&queue->mutex);
        while (!queue->count && !stop)
            pthread_cond_wait(&queue->filled, &queue->mutex);
        queue->count = 0;
        queue->done++;
        pthread_cond_signal(&queue->emptied);
        pthread_mutex_unlock(&queue->mutex);
        work(100);
    }
    return NULL;
}

// Producers and consumers with room for one: condition variables all the time.
static long conditions(double seconds) {
    enum { PAIRS = 2 };
    static struct queue queues[PAIRS];
    pthread_t thread;
    long done = 0;
    for (int i = 0; i < PAIRS; i++) {
        pthread_mutex_init(&queues[i].mutex, NULL);
        pthread_cond_init(&queues[i].filled, NULL);
        pthread_cond_init(&queues[i].emptied, NULL);
        pthread_create(&thread, NULL, produce, &queues[i]);
        pthread_create(&thread, NULL, consume, &queues[i]);
    }
    wait_and_stop(seconds);
    for (int i = 0; i < PAIRS; i++)
        done += queues[i].done;
    return done;
}

// Clients of a display server, each drawing 60 times a second with some messages and some computing, and as many
// timers that only look around.
static void *draw(void *argument) {
    int *ends = argument;
    char message[64] = "draw";
    while (!stop) {
        struct timespec frame = {0, 16666667};
        nanosleep(&frame, NULL);
        for (int i = 0; i < 8 && !stop; i++) {
            work(20000);
            if (write(ends[0], message, sizeof message) < 0 || read(ends[0], message, sizeof message) < 0)
                return NULL;
        }
    }
    return NULL;
}

static void *serve(void *argument) {
    int *ends = argument;
    char message[64];
    while (read(ends[1], message, sizeof message) > 0) {
        work(10000);
        if (write(ends[1], message, sizeof message) < 0)
            break;
    }
    return NULL;
}

static void *look_around(void *argument) {
    (void)argument;
    while (!stop) {
        struct timespec tick = {0, 10000000};
        nanosleep(&tick, NULL);
        for (int i = 0; i < 5; i++)
            access("/", F_OK);
    }
    return NULL;
}

static long desktop(double seconds) {
    enum { CLIENTS = 4 };
    static int ends[CLIENTS][2];
    pthread_t thread;
    for (int i = 0; i < CLIENTS; i++) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]);
        pthread_create(&thread, NULL, serve, ends[i]);
        pthread_create(&thread, NULL, draw, ends[i]);
        pthread_create(&thread, NULL, look_around, NULL);
    }
    wait_and_stop(seconds);
    return (long)(seconds * 60 * CLIENTS);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        long (*run)(double seconds);
    } LOADS[] = {{"calls", system_calls}, {"switches", switches}, {"conditions", conditions}, {"desktop", desktop}};
    double seconds = count > 2 ? atof(arguments[2]) : 1;
    sigset_t start;
    int number;
    sigemptyset(&start);
    sigaddset(&start, SIGUSR1);
    sigprocmask(SIG_BLOCK, &start, NULL);
    signal(SIGALRM, end_now);
    puts("ready");
    fflush(stdout);
    sigwait(&start, &number);
    for (size_t i = 0; count > 1 && i < sizeof LOADS / sizeof *LOADS; i++)
        if (strcmp(LOADS[i].name, arguments[1]) == 0) {
            double cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID), wall = clock_now(CLOCK_MONOTONIC);
            long done = LOADS[i].run(seconds);
            cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
            printf("%ld %.6f %.6f\n", done, cpu, clock_now(CLOCK_MONOTONIC) - wall);
            fflush(stdout);
            _exit(0);
        }
    return 2;
}
