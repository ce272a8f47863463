// Makes itself undumpable, so that /proc/self belongs to root and nobody may trace it; threads and children go on.
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "work.h"

static void *work(void *nothing) {
    burn(0.1);
    return nothing;
}

int main(void) {
    burn(0.05);
    MUST(prctl(PR_SET_DUMPABLE, 0) == 0);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, work, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        burn(0.05);
        execl("/bin/sh", "sh", "-c", "exit 3", NULL);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child);
    pthread_join(thread, NULL);
    printf("dumpable %d child %d\n", prctl(PR_GET_DUMPABLE), WEXITSTATUS(status));
    return 0;
}
