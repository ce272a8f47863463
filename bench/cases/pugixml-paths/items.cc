// Counts what is on offer, anywhere in a catalogue.
#include <cstdio>
#include <cstdlib>
#include <pugixml.hpp>
#include <string>

static std::string catalogue(int groups) {
    std::string text = "<catalogue>";
    for (int group = 0; group < groups; group++) {
        text += "<group>";
        for (int item = 0; item < 20; item++) {
            text += "<item number='" + std::to_string(group * 20 + item) + "'><name>thing</name><price>" +
                    std::to_string((group * 7 + item * 13) % 97) + "</price>" + (item % 5 ? "" : "<offer/>") +
                    "</item>";
        }
        text += "</group>";
    }
    return text + "</catalogue>";
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: items GROUPS TIMES\n");
        return 2;
    }
    pugi::xml_document document;
    if (!document.load_string(catalogue(std::atoi(argv[1])).c_str())) {
        std::fprintf(stderr, "items: the catalogue is not understood\n");
        return 1;
    }
    const pugi::xpath_query offers("count(//offer)"), cheap("count(//item[price < 10])");
    double found = 0;
    for (int times = std::atoi(argv[2]); times > 0; times--) {
        found += offers.evaluate_number(document) + cheap.evaluate_number(document);
    }
    std::printf("%.0f found\n", found);
    return 0;
}
