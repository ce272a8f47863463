// Values of one run, by makers of several kinds: HOW MANY [MORE].
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += (unsigned long)i;
}

// A count and a sum in memory.
static long joined, summed;

KEPT static void join(long size) {
    joined++;       // one more
    summed += size; // some more
}

KEPT static void by_count(long many) {
    for (long i = 0; i < many; i++)
        join(i);
    spin(joined);
}

KEPT static void by_sum(long many) {
    for (long i = 0; i < many; i++)
        join(i);
    spin(summed);
}

// A condition in memory.
static _Bool is_slow;

KEPT static void set_mode(long many) {
    is_slow = many > 10; // a condition
}

KEPT static void by_condition(long many) {
    set_mode(many);
    for (int i = 0; i < 40; i++)
        spin(is_slow);
}

// Bytes that memset writes.
static unsigned char levels[256];

KEPT static void fill(long many, long size) {
    memset(levels, (int)many, (size_t)size); // the level
    sink++;
}

KEPT static void by_memset(long many, long size) {
    fill(many, size);
    for (int i = 0; i < 40; i++)
        spin(levels[3]);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const char *how = argv[1];
    long many = strtol(argv[2], NULL, 10);
    long more = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    if (!strcmp(how, "count"))
        by_count(many);
    else if (!strcmp(how, "sum"))
        by_sum(many);
    else if (!strcmp(how, "condition"))
        by_condition(many);
    else if (!strcmp(how, "memset"))
        by_memset(many, more);
    return 0;
}
