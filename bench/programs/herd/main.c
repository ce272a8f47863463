// herd WORKERS GENERATIONS REQUESTS EARLY: starts workers anew so many times; so many of them leave by themselves.
#include <stdio.h>
#include <stdlib.h>

#include "herd.h"

int main(int argc, char **argv) {
    if (argc != 5 || atoi(argv[1]) > MOST_WORKERS) {
        fprintf(stderr, "usage: herd WORKERS GENERATIONS REQUESTS EARLY (at most %d workers)\n", MOST_WORKERS);
        return 2;
    }
    struct scoreboard board = {.count = atoi(argv[1])};
    int generations = atoi(argv[2]), early = atoi(argv[4]);
    for (int generation = 0; generation < generations; generation++) {
        board.generation = (uint32_t)generation;
        for (int i = 0; i < board.count; i++) {
            if (!start_worker(&board, i, (uint32_t)atol(argv[3]), i < early)) {
                return 1;
            }
        }
        note_gone(&board, early);
        wake_all(&board);
        note_gone(&board, board.count - early);
    }
    printf("woken=%llu\n", (unsigned long long)board.wakes);
    return 0;
}
