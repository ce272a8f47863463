// Two processes exchange messages through two pipes. Stalled: both send more than a pipe holds before they read.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void whole(int descriptor, char *buffer, size_t length, int writing) {
    for (size_t done = 0; done < length;) {
        ssize_t n = writing ? write(descriptor, buffer + done, length - done)
                            : read(descriptor, buffer + done, length - done);
        if (n <= 0)
            _exit(1);
        done += (size_t)n;
    }
}

__attribute__((noinline)) static void send_batch(int out, char *buffer, size_t length) {
    whole(out, buffer, length, 1);
}

__attribute__((noinline)) static void receive_batch(int in, char *buffer, size_t length) {
    whole(in, buffer, length, 0);
}

static void exchange(int in, int out, int stalled) {
    static char buffer[1 << 20];
    for (int turn = 0; turn < 40; turn++) {
        size_t length = stalled && turn == 30 ? sizeof buffer : 4096;
        send_batch(out, buffer, length);
        receive_batch(in, buffer, length);
        usleep(2000);
    }
}

int main(int argc, char **argv) {
    int stalled = argc > 1 && !strcmp(argv[1], "stalled");
    int there[2], back[2];
    if (pipe(there) || pipe(back))
        return 1;
    pid_t child = fork();
    if (!child) {
        exchange(there[0], back[1], stalled);
        _exit(0);
    }
    pid_t other = fork();
    if (!other) {
        close(there[0]);
        close(back[1]);
        exchange(back[0], there[1], stalled);
        _exit(0);
    }
    close(there[0]);
    close(there[1]);
    close(back[0]);
    close(back[1]);
    waitpid(child, NULL, 0);
    waitpid(other, NULL, 0);
    return 0;
}
