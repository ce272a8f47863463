// Values that pass through code without events, a variable that is watched, memory that is allocated.
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noipa, noinline))

static int numbers[64], copied[64];
static long total;

APART int produce(int i) {
    return numbers[i] = 3 * i + 1;
}

// Not in any plan: what it does to values is up to `outside`.
APART void between(void) {
    memcpy(copied, numbers, sizeof copied);
}

APART int sum(int count) {
    int result = 0;
    for (int i = 0; i < count; i++)
        result += copied[i];
    return result;
}

APART void add(long x) {
    total += x;
}

APART void *reserve(int size) {
    void *memory = malloc(size);
    add(size);
    return memory;
}

int main(void) {
    for (int i = 0; i < 64; i++)
        produce(i);
    between();
    add(sum(64));
    free(reserve(100));
    free(reserve(200));
    return 0;
}
