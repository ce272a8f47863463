// Vacuum: old versions that nobody sees any more are pruned from their pages.
#pragma once

#include "heap.h"
#include "journal.h"

namespace reclaim {

class Vacuum {
  public:
    Vacuum(Relation *relation, const Horizon *horizon) : relation_(relation), horizon_(horizon) {
        journal_.least = JOURNAL_NOTICE;
    }
    ~Vacuum() { journal_free(&journal_); }
    Vacuum(const Vacuum &) = delete;
    Vacuum &operator=(const Vacuum &) = delete;

    void run(Heap &heap);

  private:
    enum class Fate { live, recently_dead, dead };

    std::size_t prune_page(HeapPage &page);
    Fate fate_of(const Tuple &tuple) const;
    std::size_t scan_prune(HeapPage &page);

    Relation *relation_;
    const Horizon *horizon_;
    journal journal_{};
};

} // namespace reclaim
