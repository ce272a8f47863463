// A heap of row versions, in pages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reclaim {

using Transaction = std::uint32_t;

struct Tuple {
    Transaction created = 0, deleted = 0; // 0: not deleted
    std::uint32_t key = 0;
    bool indexed = false, dead = false;
    std::string text;
};

struct HeapPage {
    std::vector<Tuple> tuples;
    std::uint32_t sum = 0;
    bool all_visible = false;
};

class Heap {
  public:
    Heap(std::uint32_t pages, Transaction now);

    void update_some(std::uint32_t round, Transaction now);
    void seal(HeapPage &page);
    std::vector<HeapPage> &pages() { return pages_; }

  private:
    std::vector<HeapPage> pages_;
};

// What other sessions may still need. It is computed anew now and then, and two answers need not agree.
struct Horizon {
    Transaction maybe_needed; // by the pruning code: nothing younger may go
    Transaction definitely_needed;
};

struct Relation {
    Transaction oldest; // by the vacuum: what was deleted before is dead
    std::uint64_t pruned = 0, scanned = 0;
};

} // namespace reclaim
