#include "vacuum.h"

#include <algorithm>

#include "digest.h"

namespace reclaim {

namespace {
constexpr int most_retries = 800; // then the page is left for the next time
} // namespace

// Takes away versions that nobody can need. Those that an index points to leave a stub.
std::size_t Vacuum::prune_page(HeapPage &page) {
    std::size_t before = page.tuples.size();
    const Transaction needed = horizon_->maybe_needed;
    auto gone = [needed](const Tuple &tuple) { return tuple.deleted != 0 && tuple.deleted < needed; };
    page.tuples.erase(std::remove_if(page.tuples.begin(), page.tuples.end(), gone), page.tuples.end());
    relation_->pruned += before - page.tuples.size();
    return before - page.tuples.size();
}

Vacuum::Fate Vacuum::fate_of(const Tuple &tuple) const {
    if (tuple.deleted == 0) {
        return Fate::live;
    }
    std::uint32_t sum = crc_of(tuple.text.data(), std::min<std::size_t>(tuple.text.size(), 8));
    return tuple.deleted < relation_->oldest && sum ? Fate::dead : Fate::recently_dead;
}

// Prunes a page, then looks whether anything dead is left, as a transaction may have ended in between; if so, the
// page is pruned again. What counts as dead is asked of the relation here and of the horizon there: where the two
// differ, the retry never helps.
std::size_t Vacuum::scan_prune(HeapPage &page) {
    std::size_t removed = 0;
    for (int retry = 0; retry < most_retries; retry++) {
        removed += prune_page(page);
        bool again = false;
        for (const Tuple &tuple : page.tuples) {
            relation_->scanned++;
            if (fate_of(tuple) == Fate::dead) {
                again = true;
                break;
            }
        }
        if (!again) {
            break;
        }
    }
    return removed;
}

void Vacuum::run(Heap &heap) {
    std::size_t number = 0;
    for (HeapPage &page : heap.pages()) {
        std::size_t removed = scan_prune(page);
        heap.seal(page);
        page.all_visible = removed == 0;
        if (++number % 64 == 0) {
            journal_write(&journal_, JOURNAL_NOTICE, number, "vacuum", "removed", removed);
        }
    }
}

} // namespace reclaim
