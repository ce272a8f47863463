// Values of one run, by several makers: HOW MANY [HEIGHT].
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += (unsigned long)i;
}

KEPT static long small(long seed) {
    return seed % 7 + 100;
}

KEPT static long large(long seed) {
    return seed % 5 + 900; // most of them
}

// Of `parts` values one is small.
KEPT static void in_parts(int parts) {
    for (int i = 0; i < 400; i++) {
        long rounds;
        if (i % parts)
            rounds = large(i); // if not small
        else
            rounds = small(i);         // if small
        sink += (unsigned long)rounds; // of either
    }
}

KEPT static void first_caller(long rounds) {
    spin(rounds); // the first
    sink++;
}

KEPT static void second_caller(long rounds) {
    spin(rounds); // the second
    sink--;
}

KEPT static void by_callers(long rounds, int parts) {
    for (int i = 0; i < 400; i++)
        if (i % parts)
            first_caller(rounds);
        else
            second_caller(rounds);
}

KEPT static void by_area(long width, long height) {
    // Parameters have their names from a function's second instruction on.
    sink = 1;
    spin(width * height); // of two
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const char *how = argv[1];
    int many = atoi(argv[2]);
    if (!strcmp(how, "parts"))
        in_parts(many);
    else if (!strcmp(how, "callers"))
        by_callers(900 + many, many);
    else if (!strcmp(how, "area"))
        by_area(many, argc > 3 ? atoi(argv[3]) : 1);
    return 0;
}
