// Two builds: with -DSLOW the hash forgets most of its input.
#include <stdio.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static unsigned hash_of(unsigned key) {
#ifdef SLOW
    return key & 1; // forgets
#else
    return key * 2654435761u >> 22;
#endif
}

KEPT static void walk(unsigned long length) {
    for (unsigned long i = 0; i < length; i++) // the chain
        sink += i;
}

KEPT static void insert(unsigned *chains, unsigned key) {
    unsigned at = hash_of(key) & 1023;
    walk(chains[at]++);
}

int main(void) {
    static unsigned chains[1024];
    for (unsigned key = 0; key < 600; key++)
        insert(chains, key);
    return 0;
}
