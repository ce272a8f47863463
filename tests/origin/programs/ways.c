// One value, several ways to where it is used: WAY MODE. MODE 1 is slow.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += (unsigned long)i * 7;
}

// A constant, chosen by a condition.
KEPT static long planned(int mode) {
    long rounds = 100;
    if (mode == 1) {
        sink += 3;
        rounds = 30000; // a constant, chosen
    }
    return rounds;
}

KEPT static void by_constant(int mode) {
    for (int i = 0; i < 40; i++)
        spin(planned(mode));
}

// Through two calls, and back through one.
KEPT static long window(long frames, long reserved) {
    return frames < reserved ? 0 : (frames - reserved) / 3; // the mistake: no window at all
}

KEPT static void flush_all(long batch) {
    for (long done = 0; done < 12000; done += batch)
        spin(20);
}

KEPT static void replay(long frames, long reserved) {
    long batch = 1 + window(frames, reserved) / 8; // a batch of one
    flush_all(batch);
}

KEPT static void by_calls(int mode) {
    long reserved = mode == 1 ? 4096 : 365; // all is reserved
    replay(4000, reserved);
}

// Through a global.
static long limit = 50;

KEPT static void set_limit(int mode) {
    limit = (long)mode * 20000 + 50; // into the global
}

KEPT static void by_global(int mode) {
    set_limit(mode);
    for (int i = 0; i < 40; i++)
        spin(limit);
}

// Through a member of a structure on the heap.
struct settings {
    char name[24];
    int level;
    long rounds;
};

KEPT static struct settings *read_settings(int mode) {
    struct settings *made = calloc(1, sizeof *made);
    strcpy(made->name, "plain");
    made->level = mode;
    made->rounds = mode * 25000L + 40; // into the member
    return made;
}

KEPT static void work(const struct settings *with) {
    for (int i = 0; i < 40; i++)
        spin(with->rounds);
}

KEPT static void by_member(int mode) {
    struct settings *made = read_settings(mode);
    work(made);
    free(made);
}

// Through memcpy.
KEPT static void by_memcpy(int mode) {
    struct settings *made = read_settings(mode);
    struct settings *copy = malloc(sizeof *copy * 2);
    size_t many = (size_t)(1 + (sink & 1));
    memcpy(copy, made, sizeof *copy * (many > 1 ? 1 : many)); // copied
    work(copy);
    free(copy);
    free(made);
}

// Through a structure that is copied with vector registers.
KEPT static void assign(struct settings *to, const struct settings *from) {
    *to = *from;
}

KEPT static void by_assignment(int mode) {
    struct settings *made = read_settings(mode);
    struct settings *copy = malloc(sizeof *copy);
    assign(copy, made);
    work(copy);
    free(copy);
    free(made);
}

// An option.
KEPT static void by_option(const char *text) {
    long rounds = strtol(text, NULL, 10); // the option
    for (int i = 0; i < 40; i++)
        spin(rounds);
}

// A count that grew.
static long waiting;

KEPT static void join(long who) {
    sink += (unsigned long)who;
    waiting++; // one more
}

KEPT static void serve(void) {
    for (int i = 0; i < 40; i++)
        spin(waiting * 10);
}

KEPT static void by_count(int mode) {
    long clients = mode * 1000L + 5; // so many join
    for (long i = 0; i < clients; i++)
        join(i);
    serve();
}

// A write that no longer happens.
struct page {
    int dirty;
    long size;
};

KEPT static void clean(struct page *pages, long from, long batch) {
    for (long i = from; i < from + batch; i++)
        pages[i].dirty = 0; // missing
}

KEPT static long find_clean(struct page *pages, long many) {
    long tried = 0;
    for (long i = 0; i < many; i++) {
        if (!pages[i].dirty) // still dirty
            break;
        tried++;
        spin(40);
    }
    return tried;
}

KEPT static void by_missing_write(int mode) {
    enum { PAGES = 512 };
    struct page *pages = calloc(PAGES, sizeof *pages);
    long batch = mode == 1 ? 0 : PAGES; // nothing is cleaned
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < PAGES; i++)
            pages[i].dirty = 1;
        clean(pages, 0, batch);
        sink += (unsigned long)find_clean(pages, PAGES);
    }
    free(pages);
}

// A configuration file.
KEPT static long read_configuration(const char *path) {
    char line[64] = "";
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) // the file
        return 1;
    fclose(file);
    return strtol(line, NULL, 10);
}

KEPT static void by_file(const char *path) {
    long rounds = read_configuration(path);
    for (int i = 0; i < 40; i++)
        spin(rounds);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const char *way = argv[1];
    int mode = argv[2][0] - '0';
    if (!strcmp(way, "constant"))
        by_constant(mode);
    else if (!strcmp(way, "calls"))
        by_calls(mode);
    else if (!strcmp(way, "global"))
        by_global(mode);
    else if (!strcmp(way, "member"))
        by_member(mode);
    else if (!strcmp(way, "memcpy"))
        by_memcpy(mode);
    else if (!strcmp(way, "assignment"))
        by_assignment(mode);
    else if (!strcmp(way, "option"))
        by_option(argv[2]);
    else if (!strcmp(way, "file"))
        by_file(argv[2]);
    else if (!strcmp(way, "count"))
        by_count(mode);
    else if (!strcmp(way, "missing"))
        by_missing_write(mode);
    return 0;
}
