// Calls, and which line of their function decides whether they happen: BY x names the line marked AS x; a line with BY
// NOTHING happens whenever its function is called.
#include <assert.h>
#include <stdlib.h>

__attribute__((noinline)) void tick(int n) {
    static volatile int ticks;
    ticks = n;
}

__attribute__((noinline)) int asked(int n) {
    static volatile int answer;
    answer = n;
    return answer;
}

__attribute__((noinline)) void straight(int n) {
    tick(n);        // BY NOTHING
    tick(asked(n)); // BY NOTHING
}

__attribute__((noinline)) void one_of_two(int n) {
    if (asked(n)) { // AS two
        tick(1);    // BY two
    } else {
        asked(n + 2); // BY two
    }
    tick(3); // compilers may copy it into both arms
}

__attribute__((noinline)) void counted(int n) {
    tick(4);                      // BY NOTHING
    for (int i = 0; i < n; i++) { // AS counted
        tick(i);                  // BY counted
    }
    tick(5); // BY NOTHING
}

__attribute__((noinline)) void chosen_in_a_loop(int n) {
    for (int i = 0; i < n; i++) { // AS rounds
        int answer = asked(i);    // BY rounds
        if (answer > 3) {         // AS large
            tick(i);              // BY large
        }
        tick(6); // BY rounds
    }
}

__attribute__((noinline)) void skipped(const int *list, int n) {
    for (int i = 0; i < n; i++) {
        if (list[i] == 7) { // AS seven
            continue;
        }
        tick(list[i]);  // BY seven
        tick(asked(i)); // BY seven
    }
}

__attribute__((noinline)) void until_asked(int n) {
    do {
        tick(n);
    } while (asked(n)); // AS again
    tick(8); // BY NOTHING
}

__attribute__((noinline)) int left_early(int n) {
    if (n < 0) { // AS negative
        return 0;
    }
    tick(n);         // BY negative
    return asked(n); // BY negative
}

__attribute__((noinline)) void asserted(int n, const int *list) {
    if (n > 5) { // AS many
        assert(list);
        tick(n); // BY many
        if (!list[0]) {
            abort();
        }
        tick(list[0]); // BY many
    }
}

__attribute__((noinline)) void nested(int n, int m) {
    for (int i = 0; i < n; i++) {     // AS outer
        tick(i);                      // BY outer
        for (int j = 0; j < m; j++) { // AS inner
            tick(asked(j));           // BY inner
        }
    }
}

__attribute__((noinline)) int first_found(const int *list, int n) {
    for (int i = 0; i < n; i++) {            // AS search
        if (list[i] > 3 && asked(list[i])) { // BY search
            return i;
        }
    }
    return -1;
}

static inline __attribute__((always_inline)) int is_odd(int n) {
    return asked(n) & 1;
}

static inline __attribute__((always_inline)) void twice(int n) {
    tick(n);     // BY NOTHING
    tick(n + 1); // BY NOTHING
}

__attribute__((noinline)) void with_inlined(int n) {
    if (is_odd(n)) { // AS odd
        twice(n);    // BY odd
    }
    tick(9); // or have it twice, too
}

int main(int argc, char **argv) {
    int list[] = {argc, 7, 9};
    (void)argv;
    straight(argc);
    one_of_two(argc);
    counted(argc);
    chosen_in_a_loop(argc);
    skipped(list, 3);
    until_asked(0);
    first_found(list, 3);
    asserted(argc, list);
    nested(argc, argc);
    with_inlined(argc);
    return left_early(-argc);
}
