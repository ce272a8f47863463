// Reads a number of batches from its input. Sleeps where a file says that a further pass has begun.
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void mix(long number) {
    for (int round = 0; round < 4000; round++)
        sum += (sum * 31) ^ (unsigned long)(number + round);
}

__attribute__((noinline)) static void plan(long batches) {
    for (long batch = 0; batch < batches; batch++)
        mix(batch);
}

int main(int argc, char **argv) {
    long batches = 0;
    if (scanf("%ld", &batches) != 1)
        return 3;
    if (argc > 1 && access(argv[1], F_OK) == 0)
        sleep(60);
    plan(batches);
    return 0;
}
