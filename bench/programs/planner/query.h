// Queries: text, parsed into the tables to join and the conditions on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace planner {

struct Condition {
    std::size_t table;
    std::uint64_t below;
};

struct Query {
    std::vector<std::size_t> tables;
    std::vector<Condition> conditions;
};

std::string compose_query(std::uint32_t serial, std::size_t tables, std::size_t joined);
Query parse_query(const std::string &text);

} // namespace planner
