#include "transactions.h"

#include <algorithm>

#include "digest.h"
#include "pack.h"
#include "roll.h"

namespace status {

namespace {
constexpr std::size_t rows_each = 160;
constexpr std::uint32_t hot_tables = 150;
} // namespace

Transactions::Transactions(Dictionary &dictionary, std::uint32_t seed, std::uint32_t tables)
    : dictionary_(dictionary), state_(seed), tables_(std::min(tables, hot_tables)) {
    journal_.least = JOURNAL_NOTICE;
}

Transactions::~Transactions() {
    buffer_free(&redo_);
    buffer_free(&packed_);
    journal_free(&journal_);
}

std::string Transactions::choose_table() {
    return "shop/customer_" + std::to_string(roll_below(&state_, tables_));
}

void Transactions::read_rows(const Table &table) {
    rows_.clear();
    std::uint64_t key = mix_of(table.name().data(), table.name().size(), 1);
    for (std::size_t i = 0; i < rows_each; i++) {
        key = mix_of(&key, sizeof key, i);
        rows_.push_back(key % 100000);
    }
    std::sort(rows_.begin(), rows_.end());
}

void Transactions::change_rows() {
    redo_.size = 0;
    for (std::uint64_t &row : rows_) {
        row += roll_below(&state_, 16);
        buffer_text(&redo_, "update ");
        buffer_padded(&redo_, row, 8);
        buffer_text(&redo_, ";");
    }
}

void Transactions::commit(const std::string &name) {
    packed_.size = 0;
    pack(redo_.bytes, redo_.size, &packed_);
    digest_ ^= crc_of(packed_.bytes, packed_.size);
    journal_write(&journal_, JOURNAL_NOTICE, done_, name.c_str(), "committed", packed_.size);
    done_++;
}

void Transactions::run_one() {
    std::string name = choose_table();
    if (auto table = dictionary_.open(name)) {
        read_rows(*table);
        change_rows();
        commit(name);
    }
}

} // namespace status
