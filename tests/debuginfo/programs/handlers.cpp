// Calls in a function that handles exceptions: nothing in its code leads to the handler.
#include <cstdlib>
#include <stdexcept>

__attribute__((noinline)) void tick(int n) {
    static volatile int ticks;
    ticks = n;
}

__attribute__((noinline)) void try_it(int n) {
    if (n > 3)
        throw std::runtime_error("too many");
    tick(n);
}

__attribute__((noinline)) void guarded(int n) {
    tick(1); // ALWAYS
    try {
        try_it(n);
    } catch (const std::exception &) {
        tick(2); // SOMETIMES
    }
}

int main(int count, char **) {
    guarded(count);
}
