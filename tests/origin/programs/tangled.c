// Two threads walk lists whose members lie elsewhere in every run, and are written through plain pointers.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { LISTS = 2, MEMBERS = 200 };

struct member {
    struct member *next;
    long id;
    long rounds;
};

static struct member *lists[LISTS];

static volatile long sink;

__attribute__((noinline)) static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += i;
}

__attribute__((noinline)) static void put(void *where, long value) {
    *(long *)where = value; // the store
}

__attribute__((noinline)) static void put_copy(struct member *into, const struct member *from) {
    memcpy(into, from, sizeof *into); // the copy
}

__attribute__((noinline)) static long planned(int mode) {
    return mode ? 5000 : 50; // the plan
}

__attribute__((noinline)) static void mark(void *where) {
    *(long *)where = 5000; // the mark
}

__attribute__((noinline)) static void leave(void *where) {
    *(long *)where = 50;
}

static void *anywhere(size_t size) {
    unsigned short chance;
    if (getrandom(&chance, sizeof chance, 0) != sizeof chance)
        abort();
    size_t offset = 16 * (size_t)chance; // of so many that two runs hardly ever choose the same
    return (char *)malloc(size + offset) + offset;
}

__attribute__((noinline)) static struct member *filled(const char *how, int mode, int number) {
    struct member *made = anywhere(sizeof *made);
    put(&made->id, number);
    if (strcmp(how, "marked") == 0) {
        if (number % 10 < 1 + 8 * mode)
            mark(&made->rounds);
        else
            leave(&made->rounds);
        return made;
    }
    put(&made->rounds, planned(mode));
    if (strcmp(how, "copied") != 0)
        return made;
    struct member *copy = anywhere(sizeof *copy);
    put_copy(copy, made);
    return copy;
}

// The same two members in both runs, of which one is walked.
__attribute__((noinline)) static void choose(int mode) {
    struct member *few = anywhere(sizeof *few), *many = anywhere(sizeof *many);
    few->next = many->next = NULL;
    put(&few->rounds, 50);
    put(&many->rounds, 5000);
    for (int i = 0; i < LISTS; i++)
        lists[i] = mode ? many : few; // the choice
}

static void *walk(void *list) {
    for (struct member *one = *(struct member **)list; one; one = one->next)
        spin(one->rounds);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int is_choice = strcmp(argv[1], "chosen") == 0;
    if (is_choice)
        choose(atoi(argv[2]));
    for (int i = 0; i < LISTS * MEMBERS && !is_choice; i++) {
        struct member *one = filled(argv[1], atoi(argv[2]), i);
        one->next = lists[i % LISTS];
        lists[i % LISTS] = one;
    }
    pthread_t threads[LISTS];
    for (int i = 0; i < LISTS; i++)
        pthread_create(&threads[i], NULL, walk, &lists[i]);
    for (int i = 0; i < LISTS; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
