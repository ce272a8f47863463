// Price lists come in as JSON whose order must stay as it is: prices are read, raised, and written again. The same
// number of prices, in many lists or in one.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

using nlohmann::ordered_json;

static std::string price_list(unsigned supplier, unsigned articles) {
    std::string text = "{\"supplier\": " + std::to_string(supplier) + ", \"prices\": {";
    for (unsigned i = 0; i < articles; i++) {
        const std::string number = std::to_string((supplier * 7919u + i) * 2654435761u);
        text += (i ? ", \"article-" : "\"article-") + number + "\": {\"net\": " + std::to_string(i % 1013) +
                ".25, \"currency\": \"EUR\", \"note\": [1, 2, " + std::to_string(i) + "]}";
    }
    return text + "}}";
}

static std::size_t raised(unsigned supplier, unsigned articles) {
    ordered_json list = ordered_json::parse(price_list(supplier, articles));
    for (auto &price : list["prices"]) {
        price["net"] = price["net"].get<double>() * 1.02;
    }
    return list.dump().size();
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: import LISTS ARTICLES\n");
        return 2;
    }
    const unsigned lists = static_cast<unsigned>(std::atoi(argv[1])),
                   articles = static_cast<unsigned>(std::atoi(argv[2]));
    std::size_t written = 0;
    for (unsigned supplier = 0; supplier < lists; supplier++) {
        written += raised(supplier, articles);
    }
    std::printf("%zu bytes\n", written);
    return 0;
}
