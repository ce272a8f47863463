// numbered SECONDS TURN CALM: writes to nowhere whose length is their own number; prints the last one. Of every TURN
// seconds the first CALM with a thousand of them each, which no recorder has a reason to leave out, then as fast as they come.
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double since(const struct timespec *begin) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    double seconds = atof(argv[1]), turn = atof(argv[2]), calm = atof(argv[3]), passed;
    struct timespec begin, pause = {.tv_nsec = 64000000};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    unsigned long number = 0;
    if (dup2(open("/dev/null", O_WRONLY), 1000) != 1000)
        return 3;
    while ((passed = since(&begin)) < seconds) {
        for (int i = 0; i < 64; i++)
            syscall(SYS_write, 1000, &number, ++number);
        if (fmod(passed, turn) < calm)
            nanosleep(&pause, NULL);
    }
    printf("%lu\n", number);
    return 0;
}
