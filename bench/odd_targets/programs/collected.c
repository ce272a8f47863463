// Boehm's collector with threads: it stops them by signals and scans their stacks.
#define GC_THREADS
#include <gc.h>
#include <pthread.h>

#include "work.h"

typedef struct Node {
    struct Node *next;
    long number;
} Node;

static void *build(void *nothing) {
    (void)nothing;
    Node *first = NULL;
    for (long round = 0; round < 60; round++) {
        first = NULL;
        for (long i = 0; i < 3000; i++) {
            Node *node = GC_MALLOC(sizeof *node);
            node->next = first;
            node->number = i;
            first = node;
        }
        burn(0.001);
    }
    long sum = 0;
    for (; first; first = first->next) {
        sum += first->number;
    }
    return (void *)sum;
}

int main(void) {
    GC_INIT();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        MUST(pthread_create(&threads[i], NULL, build, NULL) == 0);
    }
    for (int i = 0; i < 10; i++) {
        GC_gcollect();
    }
    for (int i = 0; i < 4; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%ld ", (long)sum);
    }
    printf("%s\n", GC_get_gc_no() >= 10 ? "collected" : "not collected");
    return 0;
}
