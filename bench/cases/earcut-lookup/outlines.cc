// Cuts the outlines of lakes into triangles, as a program that draws maps does: small ones first, then large ones.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mapbox/earcut.hpp>
#include <vector>

using Point = std::array<double, 2>;

static std::vector<std::vector<Point>> lake(unsigned number, unsigned points) {
    std::vector<Point> shore;
    for (unsigned i = 0; i < points; i++) {
        const double angle = 2 * M_PI * i / points;
        const double bays = 90 * std::sin(angle * (3 + number % 5)) + 40 * std::sin(angle * (17 + number % 11));
        const double radius = 400 + bays + 3 * (i * 7919 % 5);
        shore.push_back({radius * std::cos(angle), radius * std::sin(angle)});
    }
    return {shore};
}

static std::size_t triangles(unsigned lakes, unsigned points) {
    std::size_t made = 0;
    for (unsigned number = 0; number < lakes; number++) {
        made += mapbox::earcut<unsigned>(lake(number, points)).size() / 3;
    }
    return made;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: outlines LAKES POINTS\n");
        return 2;
    }
    const unsigned lakes = static_cast<unsigned>(std::atoi(argv[1])),
                   points = static_cast<unsigned>(std::atoi(argv[2]));
    std::printf("%zu small, %zu large\n", triangles(lakes * 100, 60), triangles(lakes, points));
    return 0;
}
