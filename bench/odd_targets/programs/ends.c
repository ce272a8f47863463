// ends NUMBER | segv | abort | kill | term | fpe | trap | quick | thread: ends in that way after some work.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "work.h"

static void *segfault(void *nothing) {
    raise(SIGSEGV);
    return nothing;
}

static void last_words(void) {
    printf("at exit\n");
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    struct rlimit none = {0, 0};
    MUST(setrlimit(RLIMIT_CORE, &none) == 0);
    atexit(last_words);
    burn(0.1);
    printf("before\n");
    fflush(stdout);
    const char *way = argv[1];
    if (strcmp(way, "segv") == 0) {
        volatile int *volatile nowhere = (int *)8;
        *nowhere = 1;
    } else if (strcmp(way, "abort") == 0) {
        abort();
    } else if (strcmp(way, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(way, "term") == 0) {
        raise(SIGTERM);
    } else if (strcmp(way, "fpe") == 0) {
        raise(SIGFPE);
    } else if (strcmp(way, "trap") == 0) {
        __builtin_trap();
    } else if (strcmp(way, "quick") == 0) {
        _exit(13);
    } else if (strcmp(way, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, segfault, NULL);
        pthread_join(thread, NULL);
    }
    return atoi(way);
}
