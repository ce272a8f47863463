// One place that reads: what a child writes later, and zeros, which are there at once. All that differs is who called.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TURNS = 100 };

static volatile long said;
static char byte;

__attribute__((noinline)) static void take(int from) {
    said += syscall(SYS_read, from, &byte, 1);
}

__attribute__((noinline)) static void waits(int from) {
    take(from);
    said++;
}

__attribute__((noinline)) static void does_not(int from) {
    take(from);
    said += 2;
}

int main(void) {
    int ends[2], zero = open("/dev/zero", O_RDONLY);
    if (zero < 0 || pipe(ends))
        return 1;
    usleep(300000); // until unwind tables are there
    if (fork() == 0) {
        for (int i = 0; i < TURNS; i++) {
            usleep(2000);
            if (write(ends[1], &byte, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    for (int i = 0; i < TURNS; i++) {
        waits(ends[0]);
        does_not(zero);
    }
    return 0;
}
