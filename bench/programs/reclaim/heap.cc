#include "heap.h"

#include "digest.h"
#include "roll.h"

namespace reclaim {

namespace {
constexpr std::size_t tuples_per_page = 60;
} // namespace

Heap::Heap(std::uint32_t pages, Transaction now) {
    std::uint32_t state = 23;
    pages_.resize(pages);
    for (HeapPage &page : pages_) {
        for (std::size_t i = 0; i < tuples_per_page; i++) {
            Tuple tuple;
            tuple.created = 1 + roll_below(&state, now);
            tuple.key = roll(&state);
            tuple.indexed = roll_below(&state, 4) != 0;
            tuple.text = "balance of account " + std::to_string(tuple.key % 100000);
            page.tuples.push_back(std::move(tuple));
        }
        seal(page);
    }
}

void Heap::seal(HeapPage &page) {
    std::uint32_t sum = 0;
    for (const Tuple &tuple : page.tuples) {
        sum ^= crc_of(tuple.text.data(), tuple.text.size()) + tuple.created + tuple.deleted;
    }
    page.sum = sum;
}

// Updates leave an old version behind, deleted by the transaction that made the new one.
void Heap::update_some(std::uint32_t round, Transaction now) {
    for (std::size_t number = 0; number < pages_.size(); number++) {
        HeapPage &page = pages_[number];
        std::size_t live = page.tuples.size();
        for (std::size_t i = (round + number) % 7; i < live; i += 7) {
            if (page.tuples[i].deleted == 0) {
                Tuple fresh = page.tuples[i];
                page.tuples[i].deleted = now - 1;
                fresh.created = now;
                fresh.text =
                    "balance of account " + std::to_string(fresh.key % 100000) + " after " + std::to_string(now);
                page.tuples.push_back(std::move(fresh));
            }
        }
        seal(page);
    }
}

} // namespace reclaim
