// A buffer pool shared by threads: a page table, an LRU list and one lock around both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <random>
#include <unordered_map>
#include <vector>

namespace pool {

constexpr std::size_t page_bytes = 1024;

struct Frame {
    std::uint32_t page = 0;
    std::uint32_t pins = 0;
    bool dirty = false;
    std::vector<unsigned char> bytes;
};

struct Statistics {
    std::uint64_t hits = 0, misses = 0, flushed = 0;
};

class BufferPool {
  public:
    BufferPool(std::size_t frames, std::size_t flush_batch);

    // The frame that holds the page, pinned; read "from disk" when it is not in memory.
    Frame *fetch(std::uint32_t page);
    void release(Frame *frame, bool written);
    Statistics statistics() const { return statistics_; }

  private:
    using Order = std::list<Frame *>;

    Frame *find_victim();
    void flush_some();
    void touch(Frame *frame);
    static void read_page(Frame &frame, std::uint32_t page);

    std::mutex lock_;
    std::vector<Frame> frames_;
    Order least_recent_first_;
    std::unordered_map<Frame *, Order::iterator> place_;
    std::unordered_map<std::uint32_t, Frame *> table_;
    std::size_t free_ = 0, flush_batch_;
    Statistics statistics_;
};

} // namespace pool
