// Loops of all shapes around calls. A line with IN is repeated by a loop of the very function that it stands in, a line
// with OUT is not; of the other lines (headers, mostly) compilers make what they like.

__attribute__((noinline)) void tick(int n) {
    static volatile int ticks;
    ticks = n; // OUT
}

__attribute__((noinline)) int asked(int n) {
    static volatile int answer;
    answer = n; // OUT
    return answer & 1;
}

__attribute__((noinline)) void counted(int n) {
    tick(1); // OUT
    for (int i = 0; i < n; i++)
        tick(i); // IN
    tick(2); // OUT
}

__attribute__((noinline)) void while_asked(int n) {
    while (asked(n)) // IN
        tick(n);     // IN
    tick(3);         // OUT
}

__attribute__((noinline)) void at_least_once(int n) {
    do {
        tick(n);        // IN
    } while (asked(n)); // IN
    tick(4);            // OUT
}

__attribute__((noinline)) void by_goto(int n) {
    tick(5); // OUT
again:
    tick(n); // IN
    if (asked(n)) // IN
        goto again;
    tick(6); // OUT
}

__attribute__((noinline)) void nested(int n) {
    for (int i = 0; i < n; i++) {
        tick(i); // IN
        for (int j = 0; j < i; j++) {
            tick(j); // IN
        }
        tick(-i); // IN
    }
    tick(7); // OUT
}

__attribute__((noinline)) void one_after_the_other(int n) {
    for (int i = 0; i < n; i++)
        tick(i); // IN
    tick(8); // OUT
    while (asked(n)) // IN
        tick(9);     // IN
}

// Rotated by every compiler: the condition is asked at the end, and once before.
__attribute__((noinline)) int rotated(const int *list, int n) {
    int sum = 0;
    while (n > 0) {
        n--;
        sum += asked(list[n]); // IN
    }
    tick(sum); // OUT
    return sum;
}

static inline __attribute__((always_inline)) void loops_inside(int n) {
    tick(10); // OUT
    for (int i = 0; i < n; i++)
        tick(i); // IN
}

static inline __attribute__((always_inline)) void once(int n) {
    tick(n); // OUT
}

__attribute__((noinline)) void calls_a_looping_one_once(int n) {
    tick(11); // OUT
    loops_inside(n); // OUT
    tick(12); // OUT
}

__attribute__((noinline)) void repeats_an_inlined_one(int n) {
    while (asked(n)) // IN
        once(n);     // IN
    once(13);        // OUT
}

__attribute__((noinline)) void repeats_a_looping_one(int n) {
    while (asked(n))     // IN
        loops_inside(n); // IN
    tick(14);            // OUT
}

__attribute__((noinline)) void cases_in_a_loop(const unsigned char *code, int n) {
    for (int i = 0; i < n; i++) {
        switch (code[i]) {
        case 0:
            tick(100); // IN
            break;
        case 1:
            asked(101); // IN
            break;
        case 2:
            tick(asked(102)); // IN
            break;
        case 3:
            counted(103); // IN
            break;
        case 4:
            while_asked(104); // IN
            break;
        case 5:
            nested(105); // IN
            break;
        case 6:
            by_goto(106); // IN
            tick(107); // IN
            break;
        case 7:
            at_least_once(108); // IN
            break;
        }
    }
    tick(15); // OUT
}

__attribute__((noinline)) void cases_once(int which) {
    tick(16); // OUT
    switch (which) {
    case 0:
        tick(200); // OUT
        break;
    case 1:
        asked(201); // OUT
        break;
    case 2:
        tick(asked(202)); // OUT
        break;
    case 3:
        counted(203); // OUT
        break;
    case 4:
        while_asked(204); // OUT
        break;
    case 5:
        nested(205); // OUT
        break;
    case 6:
        by_goto(206); // OUT
        break;
    }
    tick(17); // OUT
}

__attribute__((noinline)) int left_early(const int *list, int n) {
    for (int i = 0; i < n; i++) {
        if (asked(list[i])) // IN
            continue;
        if (list[i] == 42) {
            tick(18); // OUT
            return i;
        }
        tick(i); // IN
        if (list[i] < 0)
            break;
    }
    tick(19); // OUT
    return -1;
}

__attribute__((noinline)) void forever(int n) {
    for (;;) {
        tick(n); // IN
        if (asked(n)) // IN
            return;
    }
}

__attribute__((noinline)) int recursive(int n) {
    tick(n); // OUT
    if (n < 2)
        return n;
    return recursive(n - 1) + recursive(n - 2) + asked(n);
}

// A loop with two entries.
__attribute__((noinline)) void irreducible(int n) {
    tick(20); // OUT
    if (asked(n)) // OUT
        goto middle;
again:
    tick(21); // IN
middle:
    tick(22); // IN
    if (asked(n + 1)) // IN
        goto again;
    tick(23); // OUT
}

__attribute__((noinline)) void no_loop(int n) {
    if (asked(n)) // OUT
        tick(24); // OUT
    else
        tick(25); // OUT
}

int main(int argc, char **argv) {
    const int list[] = {3, 1, 42, argc};
    const unsigned char code[] = {0, 1, 2, 3};
    tick((int)(argv != 0)); // OUT
    if (argc > 1) {
        counted(argc); // OUT
        while_asked(argc);
        at_least_once(argc);
        by_goto(argc);
        nested(argc);
        one_after_the_other(argc);
        tick(rotated(list, 4)); // OUT
        calls_a_looping_one_once(argc);
        repeats_an_inlined_one(argc);
        repeats_a_looping_one(argc);
        cases_in_a_loop(code, 4);
        cases_once(argc);
        tick(left_early(list, 4)); // OUT
        forever(argc);
        tick(recursive(argc)); // OUT
        irreducible(argc);
        no_loop(argc); // OUT
    }
    return 0;
}
