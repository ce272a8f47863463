// Two ways to the same call: all that differs is who called the caller.
#include <sys/syscall.h>
#include <unistd.h>

static volatile long said;

__attribute__((noinline)) static void tick(long number) {
    said += syscall(number);
}

__attribute__((noinline)) static void between(long number) {
    tick(number);
    said++;
}

__attribute__((noinline)) static void one(void) {
    between(SYS_getppid);
    said++;
}

__attribute__((noinline)) static void other(void) {
    between(SYS_getuid);
    said += 2;
}

int main(void) {
    usleep(300000); // until unwind tables are there
    for (int i = 0; i < 20000; i++) {
        one();
        other();
    }
    return 0;
}
