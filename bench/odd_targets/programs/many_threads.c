// 200 threads with the smallest stacks there may be, at a barrier, then at work.
#include <limits.h>
#include <pthread.h>

#include "work.h"

enum { COUNT = 200 };
static pthread_barrier_t barrier;
static _Atomic int done;

static void *work(void *nothing) {
    pthread_barrier_wait(&barrier);
    burn(0.005);
    pthread_barrier_wait(&barrier);
    done++;
    return nothing;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    MUST(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 4096) == 0);
    pthread_barrier_init(&barrier, NULL, COUNT);
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; i++) {
        MUST(pthread_create(&threads[i], &attributes, work, NULL) == 0);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%d\n", done);
    return 0;
}
