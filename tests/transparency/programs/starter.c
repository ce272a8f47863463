// starter WAY PROGRAM: starts the program (fork, vfork, spawn, spawnp, system, popen, execle-empty, execvpe, daemon)
// and tells how it ended.
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "work.h"

extern char **environ;

static int ended(pid_t child) {
    int status;
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int from_pipe(const char *program) {
    FILE *pipe = popen(program, "r");
    MUST(pipe);
    char line[200];
    while (fgets(line, sizeof line, pipe)) {
        printf("piped: %s", line);
    }
    return WEXITSTATUS(pclose(pipe));
}

int main(int argc, char **argv) {
    MUST(argc == 3);
    const char *way = argv[1];
    char *program = argv[2], *arguments[] = {program, NULL}, *empty[] = {NULL};
    pid_t child = 0;
    int status;
    burn(0.05);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (strcmp(way, "fork") == 0) {
        if ((child = fork()) == 0) {
            execv(program, arguments);
            _exit(127);
        }
        status = ended(child);
    } else if (strcmp(way, "vfork") == 0) {
        if ((child = vfork()) == 0) {
            execve(program, arguments, environ);
            _exit(127);
        }
        status = ended(child);
    } else if (strcmp(way, "empty") == 0) {
        if ((child = fork()) == 0) {
            execve(program, arguments, empty);
            _exit(127);
        }
        status = ended(child);
    } else if (strcmp(way, "cleared") == 0) {
        if ((child = fork()) == 0) {
            clearenv();
            setenv("ONLY", "this", 1);
            execvp(program, arguments);
            _exit(127);
        }
        status = ended(child);
    } else if (strcmp(way, "spawn") == 0) {
        MUST(posix_spawn(&child, program, NULL, NULL, arguments, empty) == 0);
        status = ended(child);
    } else if (strcmp(way, "spawnp") == 0) {
        MUST(posix_spawnp(&child, program, NULL, NULL, arguments, environ) == 0);
        status = ended(child);
    } else if (strcmp(way, "system") == 0) {
        status = WEXITSTATUS(system(program));
    } else if (strcmp(way, "popen") == 0) {
        status = from_pipe(program);
    } else {
        status = 98;
    }
    printf("%s ended with %d\n", way, status);
    return status;
}
