// Becomes a daemon in the usual way; its grandchild reports through a pipe that outlives the session.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "work.h"

int main(void) {
    int ends[2];
    MUST(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0) {
            _exit(0);
        }
        MUST(chdir("/") == 0);
        umask(0);
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 0), dup2(nothing, 1), dup2(nothing, 2);
        burn(0.2);
        _exit(write(ends[1], "daemon's word", 13) != 13);
    }
    waitpid(child, NULL, 0);
    close(ends[1]);
    char word[64] = {0};
    ssize_t length = 0, part;
    while ((part = read(ends[0], word + length, sizeof word - 1 - (size_t)length)) > 0) {
        length += part;
    }
    printf("%s\n", word);
    return 0;
}
