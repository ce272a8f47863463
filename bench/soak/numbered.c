// numbered SECONDS: writes to nowhere whose length is their own number, as fast as they come; prints the last one.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    unsigned long number = 0;
    if (dup2(open("/dev/null", O_WRONLY), 1000) != 1000)
        return 3;
    do {
        for (int i = 0; i < 64; i++)
            syscall(SYS_write, 1000, &number, ++number);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
    printf("%lu\n", number);
    return 0;
}
