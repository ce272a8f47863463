// posix_spawn with file actions, a signal mask, defaults for signals and a process group; the child shows what it got.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "work.h"

int main(void) {
    signal(SIGUSR2, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t blocked, defaults;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigaddset(&blocked, SIGPROF);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGTERM);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 7, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addclose(&actions, 0);
    char *words[] = {"sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd; exit 6", NULL};
    char *environment[] = {"A=1", "PATH=/usr/bin:/bin", NULL};
    for (int i = 0; i < 5; i++) {
        burn(0.02);
        pid_t child;
        MUST(posix_spawn(&child, "/bin/sh", &actions, &attributes, words, environment) == 0);
        int status;
        MUST(waitpid(child, &status, 0) == child);
        printf("%d\n", WEXITSTATUS(status));
        fflush(stdout);
    }
    pid_t nobody;
    printf("%d\n", posix_spawn(&nobody, "/nonexistent", NULL, NULL, words, environment));
    return 0;
}
