// Memory that single instructions of x86-64 copy (with -mstringop-strategy=rep_8byte) and fill: WAY MODE. MODE 1 is
// slow.
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += (unsigned long)i * 7;
}

struct settings {
    char name[200];
    long rounds;
    unsigned char levels[200];
};

KEPT static void decide(struct settings *made, int mode) {
    made->rounds = mode * 25000L + 40; // the number
}

KEPT static void copy(struct settings *to, const struct settings *from) {
    *to = *from; // copied
}

KEPT static void fill(struct settings *made, int level) {
    unsigned char *to = made->levels;
    size_t many = sizeof made->levels;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(many) : "a"(level) : "memory"); // filled
}

KEPT static int level_of(int mode) {
    return mode * 100 + 3; // the level
}

KEPT static void work(const struct settings *with, int by_level) {
    for (int i = 0; i < 40; i++)
        spin(by_level ? with->levels[100] * 100L : with->rounds);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    int mode = argv[2][0] - '0', by_level = !strcmp(argv[1], "fill");
    struct settings *made = calloc(1, sizeof *made), *copied = calloc(1, sizeof *copied);
    decide(made, mode);
    fill(made, level_of(mode));
    copy(copied, made);
    work(by_level ? made : copied, by_level);
    free(copied);
    free(made);
    return 0;
}
