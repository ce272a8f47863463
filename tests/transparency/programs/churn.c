// churn EVENTS: processes and threads that come and go: fork, fork + exec, vfork + exec, posix_spawn, threads.
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include "work.h"

extern char **environ;

static void *thread_of(void *number) {
    burn_steps(2000);
    return number;
}

static int waited(pid_t child) {
    int status;
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    MUST(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    long events = atol(argv[1]), wrong = 0;
    int before = open_descriptors();
    for (long i = 0; i < events; i++) {
        char *true_arguments[] = {"true", NULL};
        pthread_t threads[2];
        void *returned;
        pid_t child;
        switch (i % 8) {
        case 0:
            child = fork();
            if (child == 0) {
                burn_steps(1000);
                _exit((int)(i & 63));
            }
            wrong += waited(child) != (i & 63);
            break;
        case 1:
            child = fork();
            if (child == 0) {
                execv("/bin/true", true_arguments);
                _exit(127);
            }
            wrong += waited(child) != 0;
            break;
        case 2:
            child = vfork();
            if (child == 0) {
                execv("/bin/false", true_arguments);
                _exit(127);
            }
            wrong += waited(child) != 1;
            break;
        case 3:
            MUST(posix_spawn(&child, "/bin/true", NULL, NULL, true_arguments, environ) == 0);
            wrong += waited(child) != 0;
            break;
        default:
            for (int t = 0; t < 2; t++) {
                MUST(pthread_create(&threads[t], NULL, thread_of, (void *)(i + t)) == 0);
            }
            for (int t = 0; t < 2; t++) {
                MUST(pthread_join(threads[t], &returned) == 0);
                wrong += returned != (void *)(i + t);
            }
        }
    }
    printf("events=%ld wrong=%ld leaked=%d\n", events, wrong, open_descriptors() - before);
    return wrong != 0;
}
