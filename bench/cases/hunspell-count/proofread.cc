// Two threads read a text each, with a dictionary of their own: every word is looked up, as it stands or with an
// ending, and one in fifty is not known.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <hunspell.hxx>
#include <string>
#include <thread>
#include <vector>

static const char *const SYLLABLES[] = {"ka", "ro", "mi", "ten", "sul", "ba", "nor", "li", "vek", "da", "shu", "per"};

static std::string word(unsigned number) {
    std::string made;
    do {
        made += SYLLABLES[number % 12];
        number /= 12;
    } while (number);
    return made;
}

static unsigned unknown_in(const std::string &dictionary, unsigned reader, unsigned words) {
    Hunspell checker((dictionary + ".aff").c_str(), (dictionary + ".dic").c_str());
    unsigned unknown = 0, state = reader + 1;
    for (unsigned at = 0; at < words; at++) {
        state = state * 1664525u + 1013904223u;
        std::string next = word((state >> 8) % 120000 * 7919 + 5000);
        next += at % 50 == 0 ? "x" : at % 3 == 0 ? "s" : "";
        unknown += !checker.spell(next);
    }
    return unknown;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: proofread DICTIONARY WORDS\n");
        return 2;
    }
    const unsigned words = static_cast<unsigned>(std::atoi(argv[2]));
    std::atomic<unsigned> unknown{0};
    std::vector<std::thread> readers;
    for (unsigned reader = 0; reader < 2; reader++) {
        readers.emplace_back([&, reader] { unknown += unknown_in(argv[1], reader, words); });
    }
    for (std::thread &reader : readers) {
        reader.join();
    }
    std::printf("%u unknown\n", unknown.load());
    return 0;
}
