// namespaces user|pid|mount|all: unshares, maps itself to root, forks the first process inside.
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "work.h"

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    MUST(file >= 0);
    MUST(write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    int all = strcmp(argv[1], "all") == 0, flags = 0;
    flags |= all || strcmp(argv[1], "user") == 0 ? CLONE_NEWUSER : 0;
    flags |= all || strcmp(argv[1], "pid") == 0 ? CLONE_NEWPID : 0;
    flags |= all || strcmp(argv[1], "mount") == 0 ? CLONE_NEWNS : 0;
    burn(0.05);
    if (unshare(flags) != 0) {
        perror("unshare");
        return 3;
    }
    if (flags & CLONE_NEWUSER) {
        write_file("/proc/self/uid_map", "0 0 1");
    }
    if (flags & CLONE_NEWNS) {
        MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
        MUST(mount("none", "/tmp", "tmpfs", 0, NULL) == 0);
    }
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        burn(0.1);
        printf("%s uid %d pid %s\n", argv[1], (int)getuid(), getpid() == 1 ? "1" : "other");
        fflush(stdout);
        char *const words[] = {"sh", "-c", "exit 9", NULL};
        execv("/bin/sh", words);
        _exit(98);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child);
    printf("child %d\n", WEXITSTATUS(status));
    return 0;
}
