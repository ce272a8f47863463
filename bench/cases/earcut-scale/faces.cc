// Cuts the faces of a part into triangles, as a viewer of drawings does: rims with many small teeth, whose points are
// pairs of parameters, from 0 to 1 along and from 0 to HEIGHT across.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mapbox/earcut.hpp>
#include <vector>

using Point = std::array<double, 2>;

static std::vector<std::vector<Point>> rim(unsigned face, unsigned points, double height) {
    std::vector<Point> ring;
    for (unsigned i = 0; i < points; i++) {
        const double angle = 2 * M_PI * i / points;
        const double radius = 0.4 + 0.05 * std::sin(angle * (5 + face % 7)) + (i % 2 ? 0.02 : 0.0) + 0.03 * (i % 3);
        ring.push_back({0.5 + radius * std::cos(angle), height * (0.5 + radius * std::sin(angle))});
    }
    return {ring};
}

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: faces FACES POINTS HEIGHT\n");
        return 2;
    }
    const unsigned faces = static_cast<unsigned>(std::atoi(argv[1])),
                   points = static_cast<unsigned>(std::atoi(argv[2]));
    const double height = std::atof(argv[3]);
    std::size_t triangles = 0;
    for (unsigned face = 0; face < faces; face++) {
        triangles += mapbox::earcut<unsigned>(rim(face, points, height)).size() / 3;
    }
    std::printf("%zu triangles\n", triangles);
    return 0;
}
