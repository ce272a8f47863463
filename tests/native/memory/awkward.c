// What breaks tools that stand before malloc. Prints what it did, which must not depend on who watches.
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 32, PLACES = 512 };
static _Atomic(char *) place[PLACES];
static atomic_long wrong;

static unsigned next(unsigned *seed) {
    return *seed = *seed * 1664525u + 1013904223u;
}

static char *filled(size_t size, unsigned how) {
    void *block = NULL;
    if (how % 5 == 0)
        block = calloc(1, size);
    else if (how % 5 == 1 && posix_memalign(&block, 64, size))
        block = NULL;
    else if (how % 5 == 2)
        block = realloc(malloc(size / 2 + 1), size);
    else if (how % 5 == 3)
        block = aligned_alloc(32, (size + 31) / 32 * 32);
    else if (how % 5 == 4)
        block = malloc(size);
    if (block)
        memset(block, (int)(size % 251), size < 64 ? size : 64);
    return block;
}

// Threads free what others allocated.
static void *exchange_blocks(void *argument) {
    unsigned seed = (unsigned)(size_t)argument;
    for (int i = 0; i < 4000; i++) {
        size_t size = 64 + next(&seed) % 20000;
        char *mine = filled(size, next(&seed) >> 8);
        if (!mine || mine[0] != (char)(size % 251))
            atomic_fetch_add(&wrong, 1);
        free(atomic_exchange(&place[(next(&seed) >> 8) % PLACES], mine));
    }
    return NULL;
}

static void storm(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange_blocks, (void *)(i + 1));
    int children = 0;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 200; k++)
                free(filled(5000, (unsigned)k));
            _exit(7);
        }
        int status = 0;
        children += waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7;
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < PLACES; i++)
        free(atomic_exchange(&place[i], NULL));
    printf("storm: %ld wrong, %d children\n", atomic_load(&wrong), children);
}

static volatile sig_atomic_t handled;

static void allocate_in_handler(int number) {
    (void)number;
    int saved = errno;
    free(filled(200000, (unsigned)handled));
    handled++;
    errno = saved;
}

// The program itself allocates nothing while signals come: what it does is allowed.
static void handlers(void) {
    struct sigaction action = {.sa_handler = allocate_in_handler};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, NULL);
    errno = 5;
    while (handled < 500)
        ;
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    printf("handlers: errno %d\n", errno);
}

static sigjmp_buf way_out;
static volatile sig_atomic_t may_jump;

static void allocate_or_leave(int number) {
    allocate_in_handler(number);
    if (may_jump && handled % 3 == 0)
        siglongjmp(way_out, 1);
}

// Signals come while the program allocates, and every third handler leaves the call that it interrupted: only with an
// allocator that permits both.
static void interrupted(void) {
    enum { HELD = 64, SIGNALS = 300 };
    static char *held[HELD];
    static unsigned seed = 1;
    static long bad;
    struct sigaction action = {.sa_handler = allocate_or_leave};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, NULL);
    sigsetjmp(way_out, 1);
    may_jump = 1;
    while (handled < SIGNALS) {
        size_t at = (next(&seed) >> 8) % HELD;
        char *old = held[at];
        held[at] = NULL;
        for (int i = 1; old && i < 64; i++)
            bad += old[i] != old[0];
        free(old);
        held[at] = filled(200, next(&seed) >> 8);
        for (volatile int pause = 0; pause < 500; pause++)
            ;
    }
    may_jump = 0;
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    printf("interrupted: %ld wrong\n", bad);
}

static void limited(void) {
    struct rlimit limit = {256 << 20, 256 << 20};
    setrlimit(RLIMIT_AS, &limit);
    long granted = 0;
    char *block;
    errno = 0;
    while ((block = malloc(1 << 20)) != NULL && granted < 1000) {
        block[0] = 1;
        granted++;
    }
    printf("limited: %s, errno %d\n", granted >= 100 && granted < 256 ? "refused in time" : "odd", errno);
}

static void fill_memory(const char *name) {
    for (int i = 0; i < 64; i++)
        memset(malloc(1 << 20), i, 1 << 20);
    printf("%s: 64 MB\n", name);
}

// A signal of ours that finds no room in the queue would end it.
static void unqueued(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_SIGPENDING, &none);
    fill_memory("unqueued");
}

static void queue_full(void) {
    struct rlimit few = {2000, 2000};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    setrlimit(RLIMIT_SIGPENDING, &few);
    while (sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0)
        ;
    fill_memory("queue-full");
}

static void zeroed(void) {
    for (int i = 0; i < 30000; i++)
        free(calloc(2, 1000));
    printf("zeroed: 60 MB\n");
}

// A child frees its copy of what its parent keeps, and keeps blocks of its own.
static void inherited(void) {
    enum { BLOCKS = 40 };
    static char *held[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        held[i] = memset(malloc(100000), i, 100000);
    if (fork() == 0) {
        for (int i = 0; i < BLOCKS; i++)
            free(held[i]);
        for (int i = 0; i < BLOCKS; i++)
            held[i] = memset(malloc(50000), i, 50000);
        exit(held[BLOCKS - 1][0] == BLOCKS - 1 ? 7 : 1);
    }
    int status = 0;
    wait(&status);
    printf("inherited: child %d, %d kept\n", WEXITSTATUS(status), held[BLOCKS - 1][99999] + 1);
}

int main(int count, char **words) {
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "storm"))
            storm();
        if (!strcmp(words[i], "handlers"))
            handlers();
        if (!strcmp(words[i], "limited"))
            limited();
        if (!strcmp(words[i], "unqueued"))
            unqueued();
        if (!strcmp(words[i], "queue-full"))
            queue_full();
        if (!strcmp(words[i], "interrupted"))
            interrupted();
        if (!strcmp(words[i], "inherited"))
            inherited();
        if (!strcmp(words[i], "zeroed"))
            zeroed();
        fflush(stdout);
    }
    return 0;
}
