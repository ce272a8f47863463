// cpu_of FILE COMMAND...: runs the command and writes the CPU seconds, user and system, that it and its waited-for
// children used, the seconds that went by, and the kilobytes that the largest process held. Stands between a tool and
// its target, so that the tool's own time is not counted; and below large processes, whose memory would otherwise count
// as that of what they start.
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t child;

static void pass_on(int number) {
    kill(child, number);
}

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: cpu_of FILE COMMAND...\n");
        return 2;
    }
    double begin = now();
    child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    signal(SIGTERM, pass_on);
    signal(SIGINT, pass_on);
    int status;
    while (waitpid(child, &status, 0) < 0) {
    }
    double elapsed = now() - begin;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    FILE *file = fopen(argv[1], "w");
    if (!file) {
        perror(argv[1]);
        return 1;
    }
    fprintf(file, "%.6f %.6f %.6f %ld\n", seconds(used.ru_utime), seconds(used.ru_stime), elapsed, used.ru_maxrss);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
