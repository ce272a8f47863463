// A loop whose bound is another one in every run: WAY.
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += (unsigned long)i * 7;
}

KEPT static long by_process(void) {
    return getpid() % 30000; // the process
}

KEPT static long by_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); // the clock
    return now.tv_nsec / 30000;
}

KEPT static long by_random(void) {
    unsigned short number = 0;
    if (getrandom(&number, sizeof number, 0) < 0) // random
        return 1;
    return number;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    long rounds = !strcmp(argv[1], "process") ? by_process() : !strcmp(argv[1], "clock") ? by_clock() : by_random();
    for (int i = 0; i < 40; i++)
        spin(rounds);
    return 0;
}
