#include "index.h"

#include <algorithm>

#include "digest.h"

namespace planner {

namespace {

constexpr std::size_t entries_per_page = 128;
constexpr std::size_t histogram_cells = 100;

// Whether an entry counts. Rows that were deleted are looked up one by one: their index entry does not say.
__attribute__((noinline)) bool visible(const Entry &entry, const Snapshot &snapshot) {
    std::uint64_t mixed = mix_of(&entry.row, sizeof entry.row, snapshot.oldest);
    return entry.deleted_by == 0 || (mixed == 0 && entry.deleted_by > snapshot.oldest);
}

} // namespace

Index::Index(std::string name, std::uint32_t rows, std::uint32_t dead_at_end) : name_(std::move(name)), rows_(rows) {
    std::uint64_t key = 0;
    for (std::uint32_t row = 0; row < rows; row++) {
        if (row % entries_per_page == 0) {
            pages_.emplace_back();
            pages_.back().entries.reserve(entries_per_page);
        }
        key += 1 + mix_of(&row, sizeof row, 3) % 16;
        pages_.back().entries.push_back({key, row, row >= rows - dead_at_end ? 1 + row % 7 : 0});
        if (row % (rows / histogram_cells) == 0) {
            histogram_.push_back(key);
        }
    }
}

// The outermost key on one page that counts.
bool Index::read_page(const Page &page, Direction direction, const Snapshot &snapshot, std::uint64_t *found) const {
    for (std::size_t i = 0; i < page.entries.size(); i++) {
        const Entry &entry = page.entries[direction == Direction::forward ? i : page.entries.size() - 1 - i];
        if (visible(entry, snapshot)) {
            *found = entry.key;
            return true;
        }
    }
    return false;
}

std::uint64_t Index::end_of(Direction direction, const Snapshot &snapshot) const {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < pages_.size(); i++) {
        if (read_page(pages_[direction == Direction::forward ? i : pages_.size() - 1 - i], direction, snapshot,
                      &found)) {
            break;
        }
    }
    return found;
}

// The smallest and largest key in use, from the index itself: right, and cheap as long as its ends are not full of
// dead entries.
Range Index::actual_range(const Snapshot &snapshot) const {
    return {end_of(Direction::forward, snapshot), end_of(Direction::backward, snapshot)};
}

double Index::selectivity(std::uint64_t key) const {
    auto cell = std::lower_bound(histogram_.begin(), histogram_.end(), key);
    return static_cast<double>(cell - histogram_.begin()) / static_cast<double>(histogram_.size());
}

} // namespace planner
