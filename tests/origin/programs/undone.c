// Writes that slow runs no longer make, to memory that others write to as well, or that nobody else does: WAY MODE.
// MODE 1 is slow.
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += (unsigned long)i * 7;
}

struct queue {
    long limit;
    long hint;
    long waiting;
};

KEPT static void join(struct queue *queue) {
    queue->waiting++; // one more
    sink++;
}

KEPT static void drain(struct queue *queue) {
    queue->waiting = 0; // none is left
    sink++;
}

KEPT static void leave(struct queue *queue) {
    queue->waiting--; // one less
    sink++;
}

KEPT static void reset(struct queue *queue) {
    queue->waiting = 0; // of another object
    sink++;
}

KEPT static void serve(const struct queue *queue) {
    spin(queue->waiting * 10);
}

KEPT static void by_draining(struct queue *queue, long interval) {
    for (long i = 1; i <= 600; i++) {
        if (i % interval == 0)
            drain(queue);
        join(queue);
        serve(queue);
    }
}

KEPT static void by_leaving(struct queue *queue, struct queue *spare, long interval) {
    for (long i = 1; i <= 600; i++) {
        if (i % interval == 0)
            leave(queue);
        if (interval == 1)
            reset(spare);
        join(queue);
        serve(queue);
    }
}

KEPT static void set_hint(struct queue *queue, long hint) {
    queue->hint = hint; // the hint
}

KEPT static void by_hint(struct queue *queue, int mode) {
    long hint = mode == 1 ? 0 : 500; // nothing is known
    if (hint)
        set_hint(queue, hint);
    for (int i = 0; i < 40; i++)
        spin(20000 - queue->hint * 39);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    int mode = argv[2][0] - '0';
    struct queue *queue = calloc(2, sizeof *queue);
    long interval = mode == 1 ? 1000 : 1; // never
    if (!strcmp(argv[1], "drain"))
        by_draining(queue, interval);
    else if (!strcmp(argv[1], "leave"))
        by_leaving(queue, queue + 1, mode == 1 ? 10 : 1);
    else
        by_hint(queue, mode);
    free(queue);
    return 0;
}
