// Two numbers in memory, of which the compiler pushes the last one to the stack: an argument beyond the registers.
#include <stdio.h>
#include <stdlib.h>

struct settings {
    long pad;
    long other;
    long rounds;
};

__attribute__((noipa)) static long work(long a, long b, long c, long d, long e, long f, long g, long rounds) {
    volatile long sum = a + b + c + d + e + f + g;
    for (long i = 0; i < rounds * 1000; i++)
        sum += i ^ a;
    return sum;
}

// Pushes what was pushed.
__attribute__((noipa)) static long pass_on(long a, long b, long c, long d, long e, long f, long g, long rounds) {
    return 1 + work(a, b, c, d, e, f, g, rounds);
}

__attribute__((noipa)) static long run(struct settings *settings) {
    return pass_on(1, 2, 3, 4, 5, 6, settings->other, settings->rounds);
}

__attribute__((noipa)) static void set_pad(struct settings *settings, long number) {
    settings->pad = number;
}

__attribute__((noipa)) static void set_rounds(struct settings *settings, long number) {
    settings->rounds = number; // the number
}

int main(int count, char **words) {
    struct settings *settings = calloc(1, sizeof *settings);
    long sum = 0, number = atol(words[1]);
    for (int i = 0; i < 20; i++) {
        set_rounds(settings, number);
        set_pad(settings, number);
        sum += run(settings);
    }
    return printf("%d %d\n", sum != 0, count) < 0;
}
