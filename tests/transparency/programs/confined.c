// confined chroot FOLDER | setuid: the world becomes smaller while threads and children go on. Needs root.
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "work.h"

static void *burn_in_thread(void *nothing) {
    burn(0.1);
    return nothing;
}

int main(int argc, char **argv) {
    MUST(argc >= 2);
    burn(0.05);
    if (strcmp(argv[1], "chroot") == 0) {
        MUST(chroot(argv[2]) == 0 && chdir("/") == 0);
    } else {
        MUST(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    }
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        MUST(pthread_create(&threads[i], NULL, burn_in_thread, NULL) == 0);
    }
    pid_t child = fork();
    if (child == 0) {
        burn(0.1);
        char *arguments[] = {"true", NULL};
        execv("/bin/true", arguments);
        _exit(access("/bin/true", X_OK) == 0 ? 1 : 44);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    burn(0.1);
    printf("uid=%d child=%d\n", (int)getuid(), WEXITSTATUS(status));
    return 3;
}
