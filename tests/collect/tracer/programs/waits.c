// Waits in functions whose names a recording must show.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int channel[2];

__attribute__((noinline)) static void wait_a_while(void) {
    struct timespec while_ = {0, 50 * 1000 * 1000};
    nanosleep(&while_, NULL);
}

__attribute__((noinline)) static void wait_for_word(void) {
    char word;
    if (read(channel[0], &word, 1) != 1)
        perror("read");
}

static void *listen_to_it(void *unused) {
    pthread_setname_np(pthread_self(), "listener");
    wait_for_word();
    return unused;
}

int main(void) {
    pthread_t listener;
    usleep(400 * 1000); // the tracer learns of new modules a moment after they are mapped
    if (pipe(channel) || pthread_create(&listener, NULL, listen_to_it, NULL))
        return 1;
    usleep(100 * 1000); // it listens
    for (int i = 0; i < 4; i++)
        wait_a_while();
    if (write(channel[1], "x", 1) != 1)
        return 1;
    pthread_join(listener, NULL);
    return 0;
}
