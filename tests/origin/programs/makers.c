// Values of one run, by makers of several kinds: HOW MANY [MORE].
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += (unsigned long)i;
}

// A count and a sum in memory.
static long joined, summed;

KEPT static void join(long size) {
    joined++;       // one more
    summed += size; // some more
}

KEPT static void by_count(long many) {
    for (long i = 0; i < many; i++)
        join(i);
    spin(joined);
}

KEPT static void by_sum(long many) {
    for (long i = 0; i < many; i++)
        join(i);
    spin(summed);
}

// A condition in memory.
static _Bool is_slow;

KEPT static void set_mode(long many) {
    is_slow = many > 10; // a condition
}

KEPT static void by_condition(long many) {
    set_mode(many);
    for (int i = 0; i < 40; i++)
        spin(is_slow);
}

// Bytes that memset writes.
static unsigned char levels[256];

KEPT static void fill(long many, long size) {
    memset(levels, (int)many, (size_t)size); // the level
    sink++;
}

KEPT static void by_memset(long many, long size) {
    fill(many, size);
    for (int i = 0; i < 40; i++)
        spin(levels[3]);
}

// By two callers: few times by one, then many times by the other one.
KEPT static void early(long rounds) {
    spin(rounds); // a few
    sink++;
}

KEPT static void late(long rounds) {
    spin(rounds); // most
    sink--;
}

KEPT static void by_phases(long many, long more) {
    for (long i = 0; i < 3000; i++)
        early(many);
    for (long i = 0; i < more; i++)
        late(many);
}

// By two stores to one address: first by one, then by the other one.
static volatile long level;

KEPT static void set_early(long many) {
    level = many; // first
    sink++;
}

KEPT static void set_late(long many) {
    level = many; // then
    sink--;
}

KEPT static void read_level(void) {
    sink += (unsigned long)level;
}

KEPT static void by_stores(long many, long more) {
    set_early(many);
    for (long i = 0; i < 3000; i++)
        read_level();
    set_late(many);
    for (long i = 0; i < more; i++)
        read_level();
}

// The same, in turns: every so manieth time by the other one.
KEPT static void by_turns(long many, long parts) {
    for (long i = 0; i < 20 * many; i++) {
        if (i % parts)
            set_early(many);
        else
            set_late(many);
        spin(level);
    }
}

// The same, at other addresses each time.
struct item {
    long rounds;
    long id;
};

KEPT static void fill_early(struct item *item, long many) {
    item->rounds = many; // of an item
    sink++;
}

KEPT static void fill_late(struct item *item, long many) {
    item->rounds = many; // of another one
    sink--;
}

KEPT static void by_items(long many, long parts) {
    struct item *items = calloc(400, sizeof *items);
    for (long i = 0; i < 400; i++)
        if (i % parts)
            fill_early(&items[i], many);
        else
            fill_late(&items[i], many);
    for (long i = 0; i < 400; i++)
        spin(items[i].rounds);
    free(items);
}

// By one of two definitions in a loop: few times by one, then many times by the other one.
KEPT static long made_early(long many) {
    return many + 5;
}

KEPT static long made_late(long many) {
    return many + 6;
}

KEPT static void by_definitions(long many, long more) {
    for (long i = 0; i < 3000 + more; i++) {
        long rounds;
        if (i < 3000)
            rounds = made_early(many + i % 2); // early
        else
            rounds = made_late(many + i % 3); // late
        sink += (unsigned long)rounds + more; // either
    }
}

// One after the other, equally often.
KEPT static void by_places(long many) {
    for (long i = 0; i < 50; i++) {
        long size = made_early(many + i % 2);
        sink += (unsigned long)size ^ 3; // here
        size = made_late(many + i % 3);
        sink += (unsigned long)size ^ 5; // there
    }
}

// Two at once, of which one has no name.
KEPT static void by_comparison(long many) {
    for (long i = 0; i < 50; i++)
        if (many < made_early(many + 11)) // unnamed
            sink++;
}

// By a function of the library that writes, three times in four.
static char text[8];

KEPT static void append(const char *what) {
    text[0] = 0;
    strncat(text, what, 1); // appended
    sink++;
}

KEPT static void restart(long many) {
    text[0] = (char)many; // else
    sink--;
}

KEPT static void by_text(long many, const char *what) {
    for (int i = 0; i < 400; i++) {
        if (i % 4)
            append(what);
        else
            restart(many);
        spin(text[0]);
    }
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const char *how = argv[1];
    long many = strtol(argv[2], NULL, 10);
    long more = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    if (!strcmp(how, "count"))
        by_count(many);
    else if (!strcmp(how, "sum"))
        by_sum(many);
    else if (!strcmp(how, "condition"))
        by_condition(many);
    else if (!strcmp(how, "memset"))
        by_memset(many, more);
    else if (!strcmp(how, "phases"))
        by_phases(many, more);
    else if (!strcmp(how, "stores"))
        by_stores(many, more);
    else if (!strcmp(how, "turns"))
        by_turns(many, more);
    else if (!strcmp(how, "items"))
        by_items(many, more);
    else if (!strcmp(how, "definitions"))
        by_definitions(many, more);
    else if (!strcmp(how, "places"))
        by_places(many);
    else if (!strcmp(how, "comparison"))
        by_comparison(many);
    else if (!strcmp(how, "text"))
        by_text(many, how);
    return 0;
}
