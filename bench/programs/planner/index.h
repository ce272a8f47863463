// An index: pages of entries in order of their keys; dead ones stay until they are cleaned up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace planner {

struct Entry {
    std::uint64_t key;
    std::uint32_t row;
    std::uint32_t deleted_by; // 0: by nobody
};

struct Page {
    std::vector<Entry> entries;
};

struct Snapshot {
    std::uint32_t oldest; // what was deleted before this is gone for everybody
};

struct Range {
    std::uint64_t low = 0, high = 0;
};

class Index {
  public:
    Index(std::string name, std::uint32_t rows, std::uint32_t dead_at_end);

    Range actual_range(const Snapshot &snapshot) const;
    double selectivity(std::uint64_t key) const;
    const std::string &name() const { return name_; }
    std::uint32_t rows() const { return rows_; }

  private:
    enum class Direction { forward, backward };
    bool read_page(const Page &page, Direction direction, const Snapshot &snapshot, std::uint64_t *found) const;
    std::uint64_t end_of(Direction direction, const Snapshot &snapshot) const;

    std::string name_;
    std::uint32_t rows_;
    std::vector<Page> pages_;
    std::vector<std::uint64_t> histogram_;
};

} // namespace planner
