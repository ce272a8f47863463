// A server answers 400 requests of a client through a socket; a saver takes the table's lock every 10 ms. Stalled: once
// it compacts the table while it has the lock, for 60 ms of CPU time.
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REQUESTS = 400, COMPACTED = 20 };
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static int stalled;

static void burn(double seconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (volatile int step = 0; step < 20000; step++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
}

__attribute__((noinline)) static void compact(void) {
    burn(0.06);
}

static void *saver(void *unused) {
    (void)unused;
    for (int turn = 0;; turn++) {
        usleep(10000);
        pthread_mutex_lock(&table);
        if (stalled && turn == COMPACTED)
            compact();
        else
            burn(0.0002);
        pthread_mutex_unlock(&table);
    }
    return NULL;
}

__attribute__((noinline)) static void serve(int connection) {
    char request[16];
    while (read(connection, request, sizeof request) > 0) {
        pthread_mutex_lock(&table);
        burn(0.0002);
        pthread_mutex_unlock(&table);
        if (write(connection, "done", 4) != 4)
            return;
    }
}

__attribute__((noinline)) static void ask(int connection) {
    char answer[16];
    for (int turn = 0; turn < REQUESTS; turn++) {
        if (write(connection, "request", 7) != 7 || read(connection, answer, sizeof answer) <= 0)
            return;
        usleep(1000);
    }
}

int main(int argc, char **argv) {
    stalled = argc > 1 && !strcmp(argv[1], "stalled");
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    pid_t client = fork();
    if (client == 0) {
        close(ends[0]);
        ask(ends[1]);
        return 0;
    }
    close(ends[1]);
    pthread_t thread;
    pthread_create(&thread, NULL, saver, NULL);
    pthread_setname_np(thread, "saver");
    serve(ends[0]);
    waitpid(client, NULL, 0);
    return 0;
}
