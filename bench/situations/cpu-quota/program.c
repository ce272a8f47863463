// Computes for a while.
#include <stdint.h>
#include <stdio.h>

static uint64_t compute(uint64_t part) {
    uint64_t value = part;
    for (int step = 0; step < 2000000; step++)
        value = value * 6364136223846793005u + 1442695040888963407u;
    return value;
}

int main(void) {
    uint64_t sum = 0;
    for (uint64_t part = 0; part < 100; part++)
        sum ^= compute(part);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
