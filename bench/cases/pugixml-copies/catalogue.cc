// A catalogue in XML: articles are described once, and copied to every shop that has them.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "pugixml.hpp"

namespace {

const int kArticles = 300;

std::string Described() {
    std::ostringstream text;
    text << "<catalogue><articles>";
    for (int article = 0; article < kArticles; article++) {
        text << "<article id='" << article << "'><name>article number " << article << "</name><text>";
        for (int line = 0; line < 12; line++) {
            text << "What there is to say about article " << article << ", in line " << line << ". ";
        }
        text << "</text></article>";
    }
    text << "</articles></catalogue>";
    return text.str();
}

long Length(pugi::xml_node shop) {
    long length = 0;
    for (pugi::xml_node article : shop.children("article")) {
        length += static_cast<long>(std::string(article.child_value("text")).size());
    }
    return length;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: catalogue SHOPS ROUNDS\n");
        return 2;
    }
    pugi::xml_document document;
    if (!document.load_string(Described().c_str())) {
        std::fprintf(stderr, "catalogue: not read\n");
        return 1;
    }
    pugi::xml_node catalogue = document.child("catalogue");
    for (int number = 0; number < std::atoi(argv[1]); number++) {
        pugi::xml_node shop = catalogue.append_child("shop");
        shop.append_attribute("number").set_value(number);
        for (pugi::xml_node article : catalogue.child("articles").children("article")) {
            shop.append_copy(article);
        }
    }
    long length = 0;
    for (int round = 0; round < std::atoi(argv[2]); round++) {
        for (pugi::xml_node shop : catalogue.children("shop")) {
            length += Length(shop);
        }
    }
    std::printf("%ld bytes of text\n", length);
    return 0;
}
