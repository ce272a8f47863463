/* Looks for primes among k * 2^n + 1, or among k * 2^n - 1, by Fermat's test. */
#include <stdio.h>
#include <stdlib.h>
#include <tommath.h>

static int passes(unsigned k, int n, int sign) {
    mp_int number, exponent, base, power;
    if (mp_init_multi(&number, &exponent, &base, &power, NULL) != MP_OKAY)
        exit(1);
    mp_set_u32(&base, 3);
    mp_set_u32(&number, k);
    if (mp_mul_2d(&number, n, &number) != MP_OKAY)
        exit(1);
    if ((sign > 0 ? mp_add_d(&number, 1, &number) : mp_sub_d(&number, 1, &number)) != MP_OKAY)
        exit(1);
    if (mp_sub_d(&number, 1, &exponent) != MP_OKAY || mp_exptmod(&base, &exponent, &number, &power) != MP_OKAY)
        exit(1);
    int prime = mp_cmp_d(&power, 1) == MP_EQ;
    mp_clear_multi(&number, &exponent, &base, &power, NULL);
    return prime;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: candidates SIGN BITS FROM COUNT\n");
        return 2;
    }
    int sign = atoi(argv[1]), bits = atoi(argv[2]), found = 0;
    unsigned from = (unsigned)atoi(argv[3]), count = (unsigned)atoi(argv[4]);
    for (unsigned k = from; k < from + count; k++)
        found += passes(2 * k + 1, bits, sign);
    printf("%d of %u\n", found, count);
    return 0;
}
