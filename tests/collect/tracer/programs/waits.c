// waits FILE: once the file exists, waits in functions whose names a recording must show.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int channel[2];
static _Atomic pid_t listening;

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
    listening = gettid();
    wait_for_word();
    return unused;
}

static char state_of(pid_t tid) {
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    int file = open(path, O_RDONLY);
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    const char *name_end = size > 0 ? strrchr(text, ')') : NULL;
    return name_end ? name_end[2] : '?';
}

int main(int argc, char **argv) {
    pthread_t listener;
    while (argc > 1 && access(argv[1], F_OK) != 0)
        usleep(10 * 1000);
    if (pipe(channel) || pthread_create(&listener, NULL, listen_to_it, NULL))
        return 1;
    while (!listening || state_of(listening) != 'S')
        usleep(1000);
    for (int i = 0; i < 4; i++)
        wait_a_while();
    if (write(channel[1], "x", 1) != 1)
        return 1;
    pthread_join(listener, NULL);
    return 0;
}
