// planner QUERIES DEAD: explains queries over ten tables, of whose index so many last entries are dead.
#include <cstdio>
#include <cstdlib>

#include "digest.h"
#include "plan.h"

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: planner QUERIES DEAD\n");
        return 2;
    }
    constexpr std::size_t tables = 10, joined = 6;
    std::vector<planner::Index> indexes;
    for (std::size_t i = 0; i < tables; i++) {
        indexes.emplace_back("t" + std::to_string(i) + "_key", 30000, static_cast<std::uint32_t>(std::atol(argv[2])));
    }
    planner::Planner planner(indexes, {100});
    buffer text{};
    std::uint64_t digest = 0;
    for (std::uint32_t serial = 0; serial < static_cast<std::uint32_t>(std::atol(argv[1])); serial++) {
        planner::Query query = planner::parse_query(planner::compose_query(serial, tables, joined));
        text.size = 0;
        planner.explain(*planner.best(query), &text, 0);
        digest ^= crc_of(text.bytes, text.size);
    }
    std::printf("considered=%llu explained=%d\n", static_cast<unsigned long long>(planner.considered()), digest != 0);
    buffer_free(&text);
    return 0;
}
