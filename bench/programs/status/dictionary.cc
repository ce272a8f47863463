#include "dictionary.h"

#include "roll.h"

namespace status {

Table::Table(std::uint32_t id, std::uint32_t seed) : name_("shop/customer_" + std::to_string(id)) {
    static const char *const columns[] = {"id", "name", "city", "created_at", "balance", "valid_until"};
    std::uint32_t state = seed * 2654435761u + 7;
    for (std::uint32_t i = 0; i < 1 + roll_below(&state, 4); i++) {
        Index index;
        index.name = "by_" + std::string(columns[roll_below(&state, 6)]) + std::to_string(i);
        for (std::uint32_t j = 0; j <= roll_below(&state, 3); j++) {
            index.columns.emplace_back(columns[roll_below(&state, 6)]);
        }
        index.pages = roll_below(&state, 1000);
        indexes_.push_back(std::move(index));
    }
}

static std::size_t text_memory(const std::string &text) {
    return text.capacity() > 15 ? text.capacity() + 1 + sizeof text : sizeof text;
}

std::size_t Table::memory() const {
    std::size_t size = sizeof *this + text_memory(name_);
    for (const Index &index : indexes_) {
        size += sizeof index + text_memory(index.name);
        for (const std::string &column : index.columns) {
            size += text_memory(column);
        }
    }
    return size;
}

void Dictionary::add(std::uint32_t id) {
    std::lock_guard<std::mutex> held(lock_);
    auto table = std::make_shared<Table>(id, id);
    tables_.emplace(table->name(), table);
    by_age_.push_back(std::move(table));
}

std::shared_ptr<Table> Dictionary::open(const std::string &name) {
    std::lock_guard<std::mutex> held(lock_);
    auto found = tables_.find(name);
    if (found == tables_.end()) {
        return nullptr;
    }
    found->second->touch(++clock_);
    return found->second;
}

// How much memory the tables take: added up anew at every question, over all tables, while nobody else may open one.
std::size_t Dictionary::memory_size() const {
    std::lock_guard<std::mutex> held(lock_);
    std::size_t size = sizeof *this;
    for (const std::shared_ptr<Table> &table : by_age_) {
        size += table->memory();
    }
    return size;
}

std::size_t Dictionary::count() const {
    std::lock_guard<std::mutex> held(lock_);
    return tables_.size();
}

} // namespace status
