// Calls that wait, calls that wake, one call after each wait, locks, and thousands that do none of that.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 50, QUICK = 100 };

static char byte;

static void check(long result) {
    if (result < 0)
        _exit(9);
}

static void answer(int from, int to) {
    for (int i = 0; i < TURNS; i++) {
        usleep(500); // until the other one waits
        check(read(from, &byte, 1));
        usleep(500);
        check(write(to, &byte, 1));
    }
    _exit(0);
}

int main(int argc, char **argv) {
    int asked[2], answered[2], status;
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY), lock = open(argv[argc - 1], O_RDONLY);
    check(pipe(asked));
    check(pipe(answered));
    if (fork() == 0)
        answer(asked[0], answered[1]);
    for (int i = 0; i < TURNS; i++) {
        check(write(asked[1], &byte, 1));
        check(read(answered[0], &byte, 1));
        check(write(null, &byte, 1));
        for (int j = 0; j < QUICK; j++)
            check(read(zero, &byte, 1));
        check(flock(lock, LOCK_EX));
        check(flock(lock, LOCK_UN));
    }
    wait(&status);
    return status != 0;
}
