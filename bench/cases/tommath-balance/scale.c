/* Multiplies a long number by many of a quarter of its length, and prints what is left of them modulo a prime. */
#include <stdio.h>
#include <stdlib.h>
#include <tommath.h>

static void fill(mp_int *number, int bits, unsigned seed) {
    static unsigned char bytes[1000000];
    size_t length = (size_t)bits / 8;
    if (length > sizeof bytes)
        exit(2);
    for (size_t at = 0; at < length; at++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[at] = (unsigned char)(seed >> 24);
    }
    if (mp_from_ubin(number, bytes, length) != MP_OKAY)
        exit(1);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: scale LONG_BITS SHORT_BITS TIMES\n");
        return 2;
    }
    mp_int longer, shorter, product;
    mp_digit left, sum = 0;
    if (mp_init_multi(&longer, &shorter, &product, NULL) != MP_OKAY)
        return 1;
    fill(&longer, atoi(argv[1]), 1);
    fill(&shorter, atoi(argv[2]), 2);
    for (int i = 0; i < atoi(argv[3]); i++) {
        if (mp_add_d(&shorter, 977, &shorter) != MP_OKAY || mp_mul(&longer, &shorter, &product) != MP_OKAY ||
            mp_mod_d(&product, 65521, &left) != MP_OKAY)
            return 1;
        sum += left;
    }
    printf("%lu\n", (unsigned long)sum);
    mp_clear_multi(&longer, &shorter, &product, NULL);
    return 0;
}
