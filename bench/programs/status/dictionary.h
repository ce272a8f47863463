// What a database server knows of its tables, behind one lock.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace status {

struct Index {
    std::string name;
    std::vector<std::string> columns;
    std::uint32_t pages = 0;
};

class Table {
  public:
    Table(std::uint32_t id, std::uint32_t seed);

    const std::string &name() const { return name_; }
    std::size_t memory() const;
    void touch(std::uint64_t now) { used_ = now; }
    std::uint64_t used() const { return used_; }

  private:
    std::string name_;
    std::vector<Index> indexes_;
    std::uint64_t used_ = 0;
};

class Dictionary {
  public:
    void add(std::uint32_t id);
    std::shared_ptr<Table> open(const std::string &name);
    std::size_t memory_size() const;
    std::size_t count() const;

  private:
    mutable std::mutex lock_;
    std::unordered_map<std::string, std::shared_ptr<Table>> tables_;
    std::vector<std::shared_ptr<Table>> by_age_;
    std::uint64_t clock_ = 0;
};

} // namespace status
