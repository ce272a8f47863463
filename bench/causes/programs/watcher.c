// An editor that reads its bibliography again when another program changes it (TeXstudio's freeze, the paper's B11).
#include <stdio.h>
#include <string.h>
#include <poll.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>

__attribute__((noinline)) static void reparse_bibliography(double seconds) {
    static double used;
    // Steps between looks at the clock, which is a system call.
    for (struct timespec now = {0}; (double)now.tv_sec + (double)now.tv_nsec / 1e9 < used + seconds;) {
        for (volatile int step = 0; step < 1000000; step++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    }
    used += seconds;
}

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(file, text, strlen(text)) < 0)
        _exit(1);
    close(file);
}

int main(int argc, char **argv) {
    int stalled = argc > 1 && !strcmp(argv[1], "stalled");
    char folder[] = "/tmp/whyperf-watcher-XXXXXX", path[64];
    int keys[2];
    if (!mkdtemp(folder) || pipe(keys))
        return 1;
    snprintf(path, sizeof path, "%s/refs.bib", folder);
    int notify = inotify_init();
    inotify_add_watch(notify, folder, IN_CLOSE_WRITE);
    if (fork() == 0) { // the program that updates the file
        for (int turn = 0; turn < 20; turn++) {
            usleep(20000);
            if (turn == 12)
                write_file(path, stalled ? "large" : "small");
        }
        _exit(0);
    }
    if (fork() == 0) { // keys that the user presses
        for (int turn = 0; turn < 60; turn++) {
            usleep(10000);
            if (write(keys[1], "k", 1) != 1)
                break;
        }
        _exit(0);
    }
    close(keys[1]);
    for (;;) {
        struct pollfd ready[2] = {{notify, POLLIN, 0}, {keys[0], POLLIN, 0}};
        char buffer[4096];
        poll(ready, 2, -1);
        if (ready[0].revents && read(notify, buffer, sizeof buffer) > 0)
            reparse_bibliography(stalled ? 1.5 : 0.002);
        if (ready[1].revents && read(keys[0], buffer, 1) <= 0)
            break;
    }
    unlink(path);
    rmdir(folder);
    while (wait(NULL) > 0)
        ;
    return 0;
}
