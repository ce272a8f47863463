// Values that differ between a good run and a bad one, and that cost nobody anything: compiled into programs whose
// excess has another cause (bench/false_proofs.py). WHYPERF_INNOCENT is what they are made of; INNOCENT_BUILD is what
// variables begin with that differ between two builds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MADE __attribute__((noinline, noclone, used))

#ifndef INNOCENT_BUILD
#define INNOCENT_BUILD 7
#endif

static volatile long innocent_sink;
static volatile int innocent_rounds = INNOCENT_BUILD * 3;
static volatile size_t innocent_room = INNOCENT_BUILD * 100;
static volatile short innocent_default = INNOCENT_BUILD - 7; // of one build it is not in the file
static const volatile unsigned char innocent_table[4] = {1, INNOCENT_BUILD, 3, INNOCENT_BUILD + 1};

static MADE long innocent_stored(long x) { return x * 3 + 1; }
static MADE long innocent_size(long x) { return x * 64 + 32; }
static MADE long innocent_bound(long x) { return x % 50 + 10; }
static MADE long innocent_choice(long x) { return x > 20; }
static MADE long innocent_mask(long x) { return (x & 7) + 8; }
static MADE long innocent_argument(long x) { return x + 1000; }
static MADE long innocent_often(long x) { return x ^ 5; }
static MADE long innocent_unused(long x) { return x - 77; }

// These change from call to call.
static MADE long innocent_row(long x, long i) { return x * i + 3; }
static MADE long innocent_index(long x, long i) { return (i * 7 + x) % 97; }
static MADE long innocent_flag(long x, long i) { return (x / 8 ^ i) & 3; }
static MADE long innocent_length(long x, long i) { return x + i * i; }

// Branches that only one of the two runs takes, each in a function of its own: in one function, the compiler would copy a
// comparison behind both branches of the one before, and no run would pass the other's copy.
#define EITHER(limit)                                                                                                  \
    static MADE void innocent_ways_##limit(long x) {                                                                   \
        if (x > (limit)) {                                                                                             \
            __asm__ volatile("");                                                                                      \
            innocent_sink += (limit);                                                                                  \
        } else {                                                                                                       \
            __asm__ volatile("");                                                                                      \
            innocent_sink -= (limit);                                                                                  \
        }                                                                                                              \
    }
#define EVERY_LIMIT(each)                                                                                              \
    each(8) each(10) each(12) each(14) each(16) each(18) each(20) each(22) each(24) each(26) each(28) each(30)
#define CALLED(limit) innocent_ways_##limit(x);
EVERY_LIMIT(EITHER)
static void innocent_ways(long x) { EVERY_LIMIT(CALLED) }

static MADE void innocent_use(long x) { innocent_sink += x; }

__attribute__((constructor)) static void innocent_begin(void) {
    const char *text = getenv("WHYPERF_INNOCENT");
    long x = text ? atol(text) : 0;
    innocent_sink = innocent_stored(x);
    size_t bytes = (size_t)innocent_size(x);
    char *room = (char *)malloc(bytes);
    if (room) {
        memset(room, 1, bytes);
        innocent_sink += room[bytes - 1];
        free(room);
    }
    for (long i = 0, end = innocent_bound(x); i < end; i++)
        innocent_sink += i;
    if (innocent_choice(x))
        innocent_sink++;
    innocent_sink &= innocent_mask(x);
    innocent_use(innocent_argument(x));
    for (long i = 0; i < 3000; i++)
        innocent_sink += innocent_often(x);
    (void)innocent_unused(x);
    for (long i = 0; i < 100; i++)
        innocent_ways(x);
    for (int i = 0, end = innocent_rounds + innocent_default; i < end; i++)
        innocent_sink += innocent_table[i & 3];
    free(calloc(innocent_room, 1));
    for (long i = 0; i < 40; i++) {
        char text[4096];
        innocent_use(innocent_row(x, i));
        innocent_sink += innocent_index(x, i);
        if (innocent_flag(x, i))
            innocent_sink++;
        size_t length = (size_t)innocent_length(x, i);
        memset(text, 1, length);
        innocent_sink += text[length - 1];
    }
}
