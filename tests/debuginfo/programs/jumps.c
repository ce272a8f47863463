// Functions that end by a jump to another one. Before it runs, each says its name; `leaf` says who is on the stack.
#define _GNU_SOURCE
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JUMPS __attribute__((noinline, noclone))

static volatile int sink;
static char way[256];

static void note(const char *name) {
    strcat(strcat(way, " "), name);
}

// A line for each time: the return addresses, and what was called on the way.
JUMPS static void leaf(int number) {
    void *stack[16];
    extern const char __executable_start[];
    int depth = backtrace(stack, 16);
    printf("%#lx", (unsigned long)((uintptr_t)leaf - (uintptr_t)__executable_start));
    for (int i = 1; i < depth; i++)
        printf(" %#lx", (unsigned long)((uintptr_t)stack[i] - (uintptr_t)__executable_start));
    printf(" |%s\n", way);
    sink += number;
}

JUMPS static void middle(int number) {
    note("middle");
    leaf(number * 2);
}

JUMPS static void outer(int number) {
    note("outer");
    middle(number + 1);
}

JUMPS static void either(int number) {
    note("either");
    if (number & 1)
        leaf(number + 3);
    else
        middle(number + 5);
}

JUMPS static void twice(int number) {
    note("twice");
    if (number > 3)
        leaf(number + 7);
    else
        leaf(number - 9);
}

static void (*volatile pointer)(int) = leaf;

JUMPS static void computed(int number) {
    note("computed");
    pointer(number);
}

JUMPS static void by_cases(int number) {
    note("by_cases");
    switch (number) {
    case 0: return leaf(11);
    case 1: return middle(13);
    case 2: return outer(17);
    case 3: return computed(19);
    case 4: return twice(23);
    default: return either(number);
    }
}

JUMPS static int stays(int number) {
    note("stays");
    outer(number);
    return sink + 1;
}

JUMPS static void again(int number) {
    note("again");
    if (number > 0)
        again(number - 1);
    else
        leaf(number);
}

// The call itself, so that nothing is noted twice.
#define CALL(...)                                                                                                      \
    do {                                                                                                               \
        way[0] = 0;                                                                                                    \
        __VA_ARGS__;                                                                                                   \
        sink++;                                                                                                        \
    } while (0)

int main(void) {
    for (int i = 0; i < 9; i++) {
        CALL(leaf(i));
        CALL(middle(i));
        CALL(outer(i));
        CALL(either(i));
        CALL(twice(i));
        CALL(computed(i));
        CALL(by_cases(i));
        CALL(stays(i));
        CALL(again(i));
    }
    return 0;
}
