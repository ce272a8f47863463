// reclaim PAGES ROUNDS LAG: updates and vacuums in turn; pruning's horizon lags so many transactions behind.
#include <cstdio>
#include <cstdlib>

#include "heap.h"
#include "lookup.h"
#include "vacuum.h"

namespace {

// A report between vacuums: how many accounts there are, by the text of their balance.
std::size_t report(reclaim::Heap &heap) {
    struct lookup texts = {};
    for (const reclaim::HeapPage &page : heap.pages()) {
        for (const reclaim::Tuple &tuple : page.tuples) {
            if (tuple.deleted == 0 && tuple.key % 8 == 0) {
                lookup_slot(&texts, tuple.text.c_str());
            }
        }
    }
    std::size_t count = texts.entry_count;
    lookup_free(&texts);
    return count;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: reclaim PAGES ROUNDS LAG\n");
        return 2;
    }
    reclaim::Transaction now = 1000;
    auto lag = static_cast<reclaim::Transaction>(std::atol(argv[3]));
    reclaim::Heap heap(static_cast<std::uint32_t>(std::atol(argv[1])), now);
    reclaim::Relation relation{now};
    reclaim::Horizon horizon{now, now};
    reclaim::Vacuum vacuum(&relation, &horizon);
    std::size_t counted = 0;
    for (std::uint32_t round = 0; round < static_cast<std::uint32_t>(std::atol(argv[2])); round++) {
        now += 10;
        heap.update_some(round, now);
        counted += report(heap);
        relation.oldest = now;
        horizon = {now - lag, now};
        vacuum.run(heap);
    }
    std::printf("counted=%zu\n", counted);
    return 0;
}
