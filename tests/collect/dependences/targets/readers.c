// One function reads two numbers at a time; others write them, each in its own way. Threads do so at once.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noipa, noinline))

enum { PAIRS = 32 };
struct pair {
    long first, second;
};

static struct pair made[PAIRS], copied[PAIRS], received[PAIRS], zero[PAIRS];
static long total;

APART long sum(const struct pair *one) {
    return 3 * one->first + one->second;
}

APART void set_first(struct pair *one, long value) {
    one->first = value;
}

APART void set_second(struct pair *one, long value) {
    one->second = value;
}

APART void copy(void) {
    memcpy(copied, made, sizeof copied);
    total++;
}

APART void *copy_last(void) {
    return memmove(copied, made, sizeof copied);
}

APART void receive(int from) {
    if (read(from, received, sizeof received) != sizeof received)
        abort();
}

static void sum_all(const struct pair *from) {
    for (int i = 0; i < PAIRS; i++)
        total += sum(&from[i]);
}

static pthread_barrier_t both;

static void *fill_half(void *which) {
    long half = *(long *)which;
    pthread_barrier_wait(&both);
    for (int round = 0; round < 200; round++)
        for (int i = 0; i < PAIRS; i++)
            (half ? set_second : set_first)(&made[i], i + round);
    return NULL;
}

static void in_threads(void) {
    pthread_t threads[2];
    long halves[2] = {0, 1};
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, fill_half, &halves[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
    for (int i = 0; i < PAIRS; i++) {
        set_first(&made[i], i);
        set_second(&made[i], 2 * i);
    }
    if (strcmp(way, "made") == 0) {
        sum_all(made);
    } else if (strcmp(way, "threads") == 0) {
        in_threads();
        sum_all(made);
    } else if (strcmp(way, "copied") == 0) {
        copy();
        sum_all(copied);
    } else if (strcmp(way, "copied-last") == 0) {
        copy_last();
        sum_all(copied);
    } else if (strcmp(way, "received") == 0) {
        receive(0);
        sum_all(received);
    } else {
        sum_all(zero);
    }
    return total == 1;
}
