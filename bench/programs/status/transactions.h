// Transactions: rows are read, changed, packed and logged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "buffer.h"
#include "dictionary.h"
#include "journal.h"

namespace status {

class Transactions {
  public:
    Transactions(Dictionary &dictionary, std::uint32_t seed, std::uint32_t tables);
    ~Transactions();
    Transactions(const Transactions &) = delete;
    Transactions &operator=(const Transactions &) = delete;

    void run_one();
    std::uint64_t digest() const { return digest_; }
    std::uint64_t done() const { return done_; }

  private:
    std::string choose_table();
    void read_rows(const Table &table);
    void change_rows();
    void commit(const std::string &name);

    Dictionary &dictionary_;
    std::uint32_t state_, tables_;
    std::vector<std::uint64_t> rows_;
    buffer redo_{};
    buffer packed_{};
    journal journal_{};
    std::uint64_t digest_ = 0, done_ = 0;
};

} // namespace status
