#include "mill.h"
#include <stdio.h>
#include <stdlib.h>

_Noreturn __attribute__((noinline)) static void give_up(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(3);
}

// The unlikely branch becomes mill_grind.cold at -O2.
__attribute__((noinline)) long mill_grind(long *grains, long count) {
    long flour = 0;
    if (!grains)
        give_up("no grains");
    for (long i = 0; i < count; i++) {
        if (grains[i] < 0) {
            report_stone(i);
            flour -= 3 * i + count;
        }
        flour += twice(grains[i]);
    }
    return flour;
}

// Called with a constant only: cloned as sieve.constprop.0.
__attribute__((noinline)) static long sieve(long flour, int mesh) {
    long kept = 0;
    for (long i = 0; i < flour % 100; i++)
        kept += i % mesh ? i : -i;
    return kept + flour / mesh;
}

__attribute__((noinline)) static long same_name(long x) { return x * 5 + x % 3; }

int main(int argc, char **argv) {
    (void)argv;
    long grains[64];
    for (int i = 0; i < 64; i++)
        grains[i] = i * argc;
    long flour = mill_grind(grains, 64);
    switch (argc) {
    case 1: flour += other_file(flour); break;
    case 2: flour -= 7; break;
    case 3: flour *= 3; break;
    case 4: flour ^= 9; break;
    case 5: flour |= 8; break;
    default: flour = 0;
    }
    printf("%ld %ld\n", sieve(flour, 7) + sieve(flour + 1, 7), same_name(flour));
    return 0;
}
