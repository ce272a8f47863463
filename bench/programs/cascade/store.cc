#include "store.h"

namespace cascade {

void Table::insert(std::uint64_t key, std::uint64_t parent, std::string text) {
    rows_.emplace(key, Row{key, parent, std::move(text), false});
    by_parent_.emplace(parent, key);
}

Row *Table::find(std::uint64_t key) {
    auto found = rows_.find(key);
    return found == rows_.end() || found->second.deleted ? nullptr : &found->second;
}

std::vector<Row *> Table::children_of(std::uint64_t parent) {
    std::vector<Row *> children;
    auto [first, last] = by_parent_.equal_range(parent);
    for (; first != last; ++first) {
        if (Row *row = find(first->second)) {
            children.push_back(row);
        }
    }
    return children;
}

} // namespace cascade
