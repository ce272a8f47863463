// What starter starts: works for a moment, shows its environment, returns 7. Compiled in every awkward way.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

int main(void) {
    volatile unsigned long long sum = 1;
    for (int i = 0; i < 30000000; i++) {
        sum = sum * 6364136223846793005ull + 1;
    }
    int count = 0, ours = 0;
    for (char **entry = environ; entry && *entry; entry++) {
        count++;
        ours += strncmp(*entry, "LD_PRELOAD=", 11) == 0 || strncmp(*entry, "WHYPERF", 7) == 0;
    }
    printf("leaf: %d variables, %d of them the sampler's, preload %s\n", count, ours,
           getenv("LD_PRELOAD") ? "seen" : "unseen");
    return 7;
}
