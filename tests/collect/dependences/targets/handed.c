// Values that one thread makes and another uses, and that a signal's handler leaves behind.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define APART __attribute__((noipa, noinline))

long shared[16];
volatile long left_behind;

APART void *produce(void *unused) {
    (void)unused;
    for (long i = 0; i < 16; i++)
        shared[i] = 7 * i;
    return 0;
}

APART long consume(void) {
    long sum = 0;
    for (long i = 0; i < 16; i++)
        sum += shared[i];
    return sum;
}

APART void handle(int signal) {
    left_behind = signal + 1;
}

APART long look(void) {
    return left_behind;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, produce, 0);
    pthread_join(thread, 0);
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    printf("%ld\n", consume() + look());
    return 0;
}
