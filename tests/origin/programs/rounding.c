// The same number is rounded, but slow runs have set another way of rounding: MODE. MODE 1 is slow. It is compiled with
// -fno-math-errno, so that single instructions round.
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += (unsigned long)i * 7;
}

KEPT static long steps(double share) {
    return lrint(share); // rounded
}

KEPT static double share_of(const char *text) {
    return strtod(text, NULL);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    if (argv[1][0] == '1')
        fesetround(FE_UPWARD);
    double share = share_of(argv[2]);
    for (int i = 0; i < 40; i++)
        spin(20 + steps(share) * 20000);
    return 0;
}
