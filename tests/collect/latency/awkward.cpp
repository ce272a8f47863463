// Leaves a function in every way there is. Prints how many calls returned, how many were left otherwise, and how many
// were made within others; then a number that all of it leads to.
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

static long returned, left_otherwise, within, sum;
static std::jmp_buf back;

enum class Way { RETURN, THROW, JUMP, RECURSE, SWITCH };

struct Noisy { // something to be cleaned up when an exception passes
    std::string text;
    ~Noisy() { sum += static_cast<long>(text.size()); }
};

__attribute__((noinline)) long handle(Way way, int depth, double factor, long a, long b, long c, long d, long e, long f,
                                      long on_the_stack) {
    Noisy noisy{std::string(static_cast<size_t>(depth + 20), 'x')};
    switch (way) {
    case Way::THROW:
        throw std::runtime_error("left");
    case Way::JUMP:
        std::longjmp(back, 1);
    case Way::RECURSE:
        if (depth > 0)
            return handle(way, depth - 1, factor, a, b, c, d, e, f, on_the_stack) + on_the_stack;
        break;
    case Way::SWITCH:
        return static_cast<long>(factor * 2.5) + a + b + c + d + e + f + on_the_stack;
    case Way::RETURN:
        break;
    }
    return depth + on_the_stack;
}

static void deeper(int levels) {
    char room[200];
    std::memset(room, levels, sizeof room);
    sum += room[7];
    if (levels > 0)
        return deeper(levels - 1), void(sum += room[9]);
    sum += handle(Way::RETURN, 1, 1.0, 1, 2, 3, 4, 5, 6, 7);
    returned++;
}

int main() {
    for (int round = 0; round < 100; round++) {
        sum += handle(Way::RETURN, 3, 1.0, 1, 2, 3, 4, 5, 6, round);
        sum += handle(Way::SWITCH, 3, 1.5 * round, 1, 2, 3, 4, 5, 6, round);
        sum += handle(Way::RECURSE, 4, 1.0, 1, 2, 3, 4, 5, 6, round);
        returned += 3;
        within += 4;
        try {
            sum += handle(Way::THROW, 3, 1.0, 1, 2, 3, 4, 5, 6, round);
        } catch (const std::runtime_error &error) {
            sum += static_cast<long>(std::strlen(error.what()));
            left_otherwise++;
        }
        if (!setjmp(back))
            handle(Way::JUMP, 3, 1.0, 1, 2, 3, 4, 5, 6, round);
        left_otherwise++;
    }
    sum += handle(Way::RETURN, 3, 1.0, 1, 2, 3, 4, 5, 6, 0); // so that the last one that was left is noticed
    deeper(20);
    returned++;
    if (pid_t child = fork()) {
        int status;
        waitpid(child, &status, 0);
        sum += status;
    } else {
        handle(Way::RETURN, 3, 1.0, 1, 2, 3, 4, 5, 6, 0);
        _exit(0);
    }
    returned++;
    std::printf("%ld %ld %ld %ld\n", returned, left_otherwise, within, sum);
}
