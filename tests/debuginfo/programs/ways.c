// Ways through a function: it tells which marks it came by, and which functions it called.
#include <stdio.h>
#include <stdlib.h>

static unsigned called;

#define NOTED(name, number)                                                                                            \
    __attribute__((noinline)) void name(void) {                                                                        \
        called |= 1u << number;                                                                                        \
        __asm__ volatile("");                                                                                          \
    }
#define MARK(name)                                                                                                     \
    __attribute__((noinline)) void name(void) {                                                                        \
        puts(#name);                                                                                                   \
    }

NOTED(always, 0)
NOTED(odd, 1)
NOTED(falls_through, 2)
NOTED(second, 3)
NOTED(third, 4)
NOTED(in_loop, 5)
NOTED(deep, 6)
NOTED(late, 7)
NOTED(round_end, 8)
NOTED(last, 9)
NOTED(retry, 10)
MARK(mark_start)
MARK(mark_odd)
MARK(mark_case)
MARK(mark_loop)
MARK(mark_end)
MARK(mark_try)

static inline __attribute__((always_inline)) int folded(int n) {
    if (n == 77)
        late();
    deep();
    return n * 3;
}

__attribute__((noinline)) void shape(int n, int rounds) {
    called = 0;
    always();
    mark_start();
    if (n & 1) {
        odd();
        mark_odd();
    }
    switch (n & 7) {
    case 0:
        falls_through();
        // fall through
    case 1:
        second();
        mark_case();
        break;
    case 2:
        third();
        break;
    case 3:
        printf("three\n");
        break;
    case 4:
        printf("four %d\n", n);
        break;
    case 5:
        puts("five");
        break;
    default:
        if (n > 60)
            return;
    }
    for (int i = 0; i < rounds; i++) {
        in_loop();
        mark_loop();
        if (rounds == 999)
            exit(1);
        round_end();
    }
    for (;;) {
        mark_try();
        if (n != 6 || rounds-- == 0)
            break;
        retry();
    }
    n = folded(n);
    mark_end();
    if (n < 0)
        late();
    last();
}

int main(int argc, char **argv) {
    for (int at = 1; at + 1 < argc; at += 2)
        shape(atoi(argv[at]), atoi(argv[at + 1])), printf("called %u\n", called);
    return 0;
}
