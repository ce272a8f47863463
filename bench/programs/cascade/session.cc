#include <algorithm>

#include "digest.h"
#include "pack.h"
#include "store.h"

namespace cascade {

bool operator==(const Certified &left, const Certified &right) __attribute__((noinline));

bool operator==(const Certified &left, const Certified &right) {
    return left.key == right.key && left.table == right.table;
}

void Session::log_undo(const Table &table, const Row &row) {
    buffer_text(&undo_, table.name().c_str());
    buffer_text(&undo_, ":");
    buffer_padded(&undo_, row.key, 10);
    buffer_text(&undo_, "=");
    buffer_quoted(&undo_, row.text.c_str());
    digest_ ^= crc_of(row.text.data(), row.text.size());
}

// Deletes a row and what refers to it. The list of parents that a cluster would have to certify is searched and kept
// for every row that goes with its parent, also where there is no cluster to certify anything.
std::size_t Session::mark_deleted(Table &table, Row &row, const Row *parent) {
    std::size_t removed = 1;
    if (parent) {
        Certified wanted{table.name(), parent->key};
        if (std::find(certified_.begin(), certified_.end(), wanted) == certified_.end()) {
            certified_.push_back(std::move(wanted));
        }
    }
    row.deleted = true;
    log_undo(table, row);
    for (const Reference *reference : table.referred_by) {
        if (reference->cascade) {
            for (Row *child : reference->child->children_of(row.key)) {
                removed += mark_deleted(*reference->child, *child, &row);
            }
        }
    }
    return removed;
}

std::size_t Session::remove(Table &table, std::uint64_t key) {
    Row *row = table.find(key);
    return row ? mark_deleted(table, *row, nullptr) : 0;
}

void Session::commit() {
    buffer packed{};
    pack(undo_.bytes, undo_.size, &packed);
    digest_ = mix_of(packed.bytes, packed.size, digest_);
    undo_.size = 0;
    if (replicated_) {
        sent_ += certified_.size();
    }
    certified_.clear();
    buffer_free(&packed);
}

} // namespace cascade
