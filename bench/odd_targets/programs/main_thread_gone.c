// The main thread ends by pthread_exit; the last of the others ends the process.
#include <pthread.h>

#include "work.h"

static _Atomic int left = 6;

static void *work(void *number) {
    burn(0.05 * (double)(long)number);
    if (--left == 0) {
        printf("the last one\n");
        exit(9);
    }
    pthread_exit(NULL);
}

int main(void) {
    for (long i = 1; i <= 6; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, work, (void *)i) == 0);
        pthread_detach(thread);
    }
    pthread_exit(NULL);
}
