// Filters long lines, in which a few letters matter, as a search in a log does; one object serves for all of them.
#include <cstdio>
#include <cstdlib>
#include <re2/re2.h>
#include <string>

static unsigned next(unsigned &state) {
    state = state * 1664525u + 1013904223u;
    return state >> 16;
}

static const int LENGTH = 3000, RUN = 24;

static void write_line(std::string &line, unsigned &state) {
    for (int k = 0; k < RUN; k++) {
        line[LENGTH / 2 + k] = next(state) % 2 ? 'a' : 'b';
    }
    if (next(state) % 4 == 0) {
        line[LENGTH / 2 + RUN - 1] = 'c';
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: filter PATTERN LINES\n");
        return 2;
    }
    RE2::Options options;
    options.set_log_errors(false);
    const RE2 pattern(argv[1], options);
    if (!pattern.ok()) {
        std::fprintf(stderr, "filter: %s is no pattern\n", argv[1]);
        return 1;
    }
    std::string line(LENGTH, '-');
    unsigned state = 1, found = 0;
    for (int lines = std::atoi(argv[2]); lines > 0; lines--) {
        write_line(line, state);
        found += RE2::PartialMatch(line, pattern);
    }
    std::printf("%u lines\n", found);
    return 0;
}
