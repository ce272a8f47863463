// A cache of 8 answers is emptied as soon as it is full: with a ninth question, every answer is worked out anew.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum { SIZE = 64 };
static unsigned known[SIZE], full, limit = 8, asked_odd;
__attribute__((noinline)) static unsigned work_out(unsigned key) {
    unsigned answer = key;
    for (int i = 0; i < 60000; i++)
        answer = answer * 1664525u + 1013904223u;
    return answer | 1;
}
__attribute__((noinline)) static void make_room(void) {
    if (full < limit)
        return;
    for (int i = 0; i < SIZE; i++)
        known[i] = 0;
    full = 0;
}
__attribute__((noinline)) static void count_odd(unsigned key) {
    if (key == 9)
        asked_odd++;
}
static unsigned answer_to(unsigned key) {
    count_odd(key);
    if (!known[key]) {
        make_room();
        known[key] = work_out(key);
        full++;
    }
    return known[key];
}
int main(int argc, char **argv) {
    unsigned keys = argc > 1 ? (unsigned)atoi(argv[1]) : 8, sum = 0;
    for (unsigned i = 0; i < 6000; i++)
        sum ^= answer_to(i % keys);
    if (argc < 3)
        printf("%s\n", sum ? "done" : "nothing");
    else if (argv[2][0] == 't')
        printf("%s in %ld\n", sum ? "done" : "nothing", (long)clock());
    return 0;
}
