// Reads lines of a log, each of which is taken apart by one expression: what its groups hold is added up by length.
#include <re2/re2.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: visits EXPRESSION FILE\n");
        return 2;
    }
    const re2::RE2 expression(argv[1]);
    if (!expression.ok())
        return 2;
    const int groups = expression.NumberOfCapturingGroups();
    std::vector<re2::StringPiece> found(groups + 1);
    std::ifstream file(argv[2]);
    std::string line;
    size_t matched = 0;
    size_t length = 0;
    while (std::getline(file, line)) {
        if (!expression.Match(line, 0, line.size(), re2::RE2::ANCHOR_BOTH, found.data(), groups + 1))
            continue;
        matched++;
        for (int i = 1; i <= groups; i++)
            length += found[i].size();
    }
    printf("%zu %zu\n", matched, length);
    return 0;
}
