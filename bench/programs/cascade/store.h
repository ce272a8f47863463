// Tables whose rows refer to rows of other tables; who deletes a row deletes what refers to it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "buffer.h"

namespace cascade {

struct Row {
    std::uint64_t key = 0;
    std::uint64_t parent = 0;
    std::string text;
    bool deleted = false;
};

struct Reference;

class Table {
  public:
    explicit Table(std::string name) : name_(std::move(name)) {}

    void insert(std::uint64_t key, std::uint64_t parent, std::string text);
    Row *find(std::uint64_t key);
    std::vector<Row *> children_of(std::uint64_t parent);
    const std::string &name() const { return name_; }
    std::size_t size() const { return rows_.size(); }
    std::vector<const Reference *> referred_by; // who must follow when a row here goes

  private:
    std::string name_;
    std::map<std::uint64_t, Row> rows_;
    std::unordered_multimap<std::uint64_t, std::uint64_t> by_parent_;
};

struct Reference {
    Table *child;
    bool cascade;
};

// A write set that other nodes of a cluster would have to certify, as a key's text.
struct Certified {
    std::string table;
    std::uint64_t key;
};

class Session {
  public:
    explicit Session(bool replicated) : replicated_(replicated) {}
    ~Session() { buffer_free(&undo_); }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    std::size_t remove(Table &table, std::uint64_t key);
    void commit();
    std::uint64_t digest() const { return digest_; }
    std::size_t certified() const { return certified_.size(); }

  private:
    std::size_t mark_deleted(Table &table, Row &row, const Row *parent);
    void log_undo(const Table &table, const Row &row);

    bool replicated_;
    std::list<Certified> certified_;
    std::vector<const Row *> ancestors_;
    buffer undo_{};
    std::uint64_t digest_ = 0;
    std::size_t sent_ = 0;
};

} // namespace cascade
