// limits files|memory|stack|size|processes|pending|cpu|core: lives within a small limit, and meets it.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "work.h"

static void *work(void *nothing) {
    burn(0.02);
    return nothing;
}

static void limit(int what, rlim_t amount) {
    struct rlimit both = {amount, amount};
    MUST(setrlimit(what, &both) == 0);
}

static void over_cpu(int number) {
    (void)number;
    printf("time is up\n");
    exit(6);
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    const char *what = argv[1];
    burn(0.05);
    if (strcmp(what, "files") == 0) {
        limit(RLIMIT_NOFILE, 5);
        while (open("/dev/null", O_RDONLY) >= 0) {
        }
        printf("%s\n", strerror(errno));
    } else if (strcmp(what, "memory") == 0) {
        limit(RLIMIT_AS, 256 << 20);
        void *last = NULL, *next;
        while ((next = malloc(16 << 20))) {
            last = next;
        }
        printf("%s %s\n", strerror(errno), last ? "after some" : "at once");
        free(last); // for the threads below
    } else if (strcmp(what, "stack") == 0) {
        limit(RLIMIT_STACK, 128 << 10);
    } else if (strcmp(what, "size") == 0) {
        limit(RLIMIT_FSIZE, 4096);
        signal(SIGXFSZ, SIG_IGN);
        FILE *file = tmpfile();
        MUST(file);
        static char block[8192];
        printf("%zd ", write(fileno(file), block, sizeof block));
        printf("%zd\n", write(fileno(file), block, sizeof block));
    } else if (strcmp(what, "pending") == 0) {
        limit(RLIMIT_SIGPENDING, 0);
    } else if (strcmp(what, "processes") == 0) {
        limit(RLIMIT_NPROC, 4000);
    } else if (strcmp(what, "core") == 0) {
        limit(RLIMIT_CORE, 0);
    } else {
        struct rlimit second = {1, 60};
        signal(SIGXCPU, over_cpu);
        MUST(setrlimit(RLIMIT_CPU, &second) == 0);
        burn(10);
    }
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, work, NULL) == 0);
        pthread_join(thread, NULL);
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        burn(0.05);
        _exit(7);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child);
    printf("%s: child %d\n", what, WEXITSTATUS(status));
    return 0;
}
