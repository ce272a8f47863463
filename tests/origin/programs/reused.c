// Memory that a cursor has before an instruction gets it: more is written to the one than anybody can watch. A second
// instruction has memory of its own.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOVES = 120000, STEPS = 400, SECOND = 4, ROOM = 64, PAUSE_US = 200000 };

struct cursor {
    uint32_t page;
    uint32_t state;
};

struct instruction {
    uint32_t kind;
    uint32_t rounds;
};

static _Alignas(16) char pool[2 * ROOM];

__attribute__((noipa)) static void *allocate(int number) {
    return pool + ROOM * number;
}

__attribute__((noipa)) static void move(struct cursor *one, uint32_t to) {
    one->page = to;
    one->state = to % 3; // the cursor's
}

__attribute__((noipa)) static uint32_t planned(int mode) {
    return mode ? 20000 : 200; // the plan
}

__attribute__((noipa)) static void put(void *where, uint32_t value) {
    memcpy(where, &value, sizeof value); // by a plain pointer
}

__attribute__((noipa)) static void add(struct instruction *one, int mode) {
    one->kind = 1;
    one->rounds = planned(mode); // the instruction's
}

__attribute__((noipa)) static uint32_t spin(const struct instruction *one) {
    volatile uint32_t sum = 0;
    for (uint32_t i = 0; i < one->rounds; i++) { // the loop that costs
        sum += i;
    }
    return sum;
}

int main(int count, char **words) {
    int mode = count > 2 ? atoi(words[2]) : 0;
    struct cursor *cursor = allocate(0);
    for (uint32_t i = 0; i < MOVES; i++) {
        move(cursor, i);
    }
    uint32_t sum = cursor->state;
    usleep(PAUSE_US); // somebody who watches has time for the next writes
    struct instruction *first = allocate(0), *second = allocate(1);
    if (count > 2 && strcmp(words[1], "member") == 0) {
        add(first, mode);
        add(second, mode);
    } else {
        put(&first->rounds, planned(mode));
        put(&second->rounds, planned(mode));
    }
    for (uint32_t i = 0; i < STEPS; i++) {
        sum += spin(i % SECOND ? first : second);
    }
    printf("%u\n", sum);
    return 0;
}
