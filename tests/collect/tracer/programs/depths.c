// System calls from many different stacks, and one from the same all the time.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

static volatile int sink;

// Which way is taken at every depth is told by the bits of `path`.
static void deeper(int depth, unsigned path);

__attribute__((noinline)) static void left(int depth, unsigned path) {
    deeper(depth, path);
    sink++;
}

__attribute__((noinline)) static void right(int depth, unsigned path) {
    deeper(depth, path);
    sink--;
}

__attribute__((noinline)) static void deeper(int depth, unsigned path) {
    if (depth == 0)
        syscall(SYS_getppid);
    else if (path & 1)
        left(depth - 1, path >> 1);
    else
        right(depth - 1, path >> 1);
    sink++;
}

int main(void) {
    usleep(300000); // the tracer knows the modules by then
    for (unsigned i = 0; i < 5000; i++) {
        syscall(SYS_getuid);
        deeper(16, i);
    }
    return 0;
}
