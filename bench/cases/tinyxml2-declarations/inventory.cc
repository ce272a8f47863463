// An inventory in XML: documents are read and their articles counted, again and again.
#include <cstdio>
#include <cstdlib>

#include "tinyxml2.h"

namespace {

long Pieces(const char *path) {
    tinyxml2::XMLDocument document;
    if (document.LoadFile(path) != tinyxml2::XML_SUCCESS) {
        std::fprintf(stderr, "inventory: %s\n", document.ErrorStr());
        std::exit(1);
    }
    long pieces = 0;
    const tinyxml2::XMLElement *shelf = document.RootElement()->FirstChildElement("shelf");
    for (; shelf; shelf = shelf->NextSiblingElement("shelf")) {
        const tinyxml2::XMLElement *article = shelf->FirstChildElement("article");
        for (; article; article = article->NextSiblingElement("article")) {
            pieces += article->IntAttribute("pieces");
        }
    }
    return pieces;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: inventory FILE ROUNDS\n");
        return 2;
    }
    long pieces = 0;
    for (int round = 0; round < std::atoi(argv[2]); round++) {
        pieces += Pieces(argv[1]);
    }
    std::printf("%ld pieces\n", pieces);
    return 0;
}
