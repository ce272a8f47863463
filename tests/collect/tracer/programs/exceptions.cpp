// Waits inside handlers and destructors that an exception leads to.
#include <cstdio>
#include <stdexcept>
#include <time.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void wait_here() {
    struct timespec soon = {0, 3000000};
    nanosleep(&soon, nullptr);
    sink = sink + 1;
}

struct Waits {
    ~Waits() { wait_here(); }
};

__attribute__((noinline)) static void fail(int depth) {
    Waits on_the_way_out;
    if (depth == 0)
        throw std::runtime_error("deep down");
    fail(depth - 1);
    sink = sink + depth;
}

__attribute__((noinline)) static void rescue(int depth) {
    try {
        fail(depth);
    } catch (const std::exception &error) {
        sink = sink + error.what()[0];
        wait_here();
    }
}

int main() {
    std::puts("ready");
    std::fflush(stdout);
    for (;;)
        rescue(8);
}
