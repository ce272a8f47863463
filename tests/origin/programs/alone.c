// Values of one run alone, by several makers: HOW [MANY].
#include <stdio.h>
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
    return seed % 5 + 900;
}

// Of `parts` times, all but one by one definition.
KEPT static void in_parts(int parts) {
    for (int i = 0; i < 400; i++) {
        long rounds;
        if (i % parts)
            rounds = large(sink & 3); // most of them
        else
            rounds = small(sink & 3);
        spin(rounds);
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
    spin(width * height); // of two
}

// The same value by two definitions, far more often than is recorded.
KEPT static void in_turns(long rounds) {
    for (int i = 0; i < 20000; i++) {
        long some = 5;
        if (i > 19000)
            sink++;
        else
            some = rounds;
        spin(some);
    }
}

struct plan {
    char name[24];
    long rounds;
};

KEPT static void set_plan(struct plan *plan, const char *text) {
    plan->rounds = atol(text) + 1; // a cheap function sets it
}

KEPT static void by_plan(const char *text) {
    struct plan *plan = calloc(1, sizeof *plan);
    set_plan(plan, text);
    for (int i = 0; i < 40; i++)
        spin(plan->rounds); // through memory
    free(plan);
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
    else if (!strcmp(how, "turns"))
        in_turns(many);
    else if (!strcmp(how, "plan"))
        by_plan(argv[2]);
    return 0;
}
