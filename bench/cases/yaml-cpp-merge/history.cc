// Releases of a service, described in YAML: each holds its settings and, as "previous", the release before it.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "yaml-cpp/yaml.h"

namespace {

std::string Settings(unsigned release) {
    std::string text;
    for (unsigned k = 0; k < 12; k++) {
        const std::string number = std::to_string(k);
        text += "part-" + number + ": {limit: " + std::to_string(release * k % 997) + ", mode: [fast, safe]}\n";
    }
    return text;
}

// What is read of a release: all parts, once as a whole and once written out.
std::size_t Check(const YAML::Node &settings) {
    std::size_t sum = 0;
    for (const auto &part : settings) {
        sum += part.second["limit"].as<unsigned>() + part.first.as<std::string>().size();
    }
    return sum + YAML::Dump(settings).size();
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: history RELEASES\n");
        return 2;
    }
    const unsigned releases = static_cast<unsigned>(std::atoi(argv[1]));
    YAML::Node latest;
    std::size_t sum = 0;
    for (unsigned release = 0; release < releases; release++) {
        const YAML::Node settings = YAML::Load(Settings(release));
        sum += Check(settings);
        YAML::Node next;
        next["release"] = release;
        next["limit"] = settings["part-7"]["limit"].as<unsigned>();
        next["previous"] = latest;
        latest.reset(next);
    }
    std::printf("%zu %zu\n", sum, latest.size());
    return 0;
}
