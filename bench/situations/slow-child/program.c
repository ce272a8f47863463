// Asks a helper program for the version of every package.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int ask_version(const char *helper, int package) {
    char name[32];
    snprintf(name, sizeof name, "package-%d", package);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", helper, name, (char *)NULL);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}

static unsigned digest(int package) {
    unsigned value = (unsigned)package;
    for (int step = 0; step < 6000000; step++)
        value = value * 1664525u + 1013904223u;
    return value;
}

int main(int count, char **words) {
    unsigned sum = 0;
    for (int package = 0; count > 1 && package < 30; package++) {
        if (ask_version(words[1], package))
            return 1;
        sum ^= digest(package);
    }
    printf("%u\n", sum);
    return 0;
}
