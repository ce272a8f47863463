// Sleeps at the end of a stack of ten frames.
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static void deep(int depth) {
    volatile char filler[9];
    filler[0] = (char)depth;
    if (depth)
        deep(depth - 1);
    else
        usleep(3000);
    filler[1] = filler[0];
}

int main(void) {
    puts("ready");
    fflush(stdout);
    for (;;)
        deep(9);
}
