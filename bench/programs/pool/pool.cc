#include "pool.h"

#include <cstdio>
#include <cstdlib>

namespace pool {

BufferPool::BufferPool(std::size_t frames, std::size_t flush_batch) : frames_(frames), flush_batch_(flush_batch) {
    for (Frame &frame : frames_) {
        frame.bytes.resize(page_bytes);
    }
}

void BufferPool::read_page(Frame &frame, std::uint32_t page) {
    std::uint32_t state = page * 2654435761u + 17;
    for (std::size_t i = 0; i < page_bytes; i++) {
        state = state * 1664525u + 1013904223u;
        frame.bytes[i] = static_cast<unsigned char>(state >> 24);
    }
    frame.page = page;
}

void BufferPool::touch(Frame *frame) {
    auto found = place_.find(frame);
    if (found != place_.end()) {
        least_recent_first_.erase(found->second);
    }
    place_[frame] = least_recent_first_.insert(least_recent_first_.end(), frame);
}

// The least recently used frame that may be given away. Dirty ones are passed over, every time from the list's
// beginning: cheap as long as the flusher keeps that end clean, linear in the pool's size when it does not.
Frame *BufferPool::find_victim() {
    for (Frame *frame : least_recent_first_) {
        if (frame->pins == 0 && !frame->dirty) {
            return frame;
        }
    }
    return nullptr;
}

void BufferPool::flush_some() {
    std::size_t left = flush_batch_;
    for (Frame *frame : least_recent_first_) {
        if (left == 0) {
            break;
        }
        if (frame->dirty && frame->pins == 0) {
            frame->dirty = false;
            statistics_.flushed++;
            left--;
        }
    }
}

Frame *BufferPool::fetch(std::uint32_t page) {
    std::lock_guard<std::mutex> held(lock_);
    auto found = table_.find(page);
    if (found != table_.end()) {
        statistics_.hits++;
        found->second->pins++;
        touch(found->second);
        return found->second;
    }
    statistics_.misses++;
    Frame *frame = free_ < frames_.size() ? &frames_[free_++] : find_victim();
    while (!frame) {
        flush_some();
        frame = find_victim();
    }
    if (place_.count(frame)) {
        table_.erase(frame->page);
    }
    read_page(*frame, page);
    table_[page] = frame;
    frame->pins++;
    touch(frame);
    return frame;
}

void BufferPool::release(Frame *frame, bool written) {
    std::lock_guard<std::mutex> held(lock_);
    frame->pins--;
    frame->dirty |= written;
    if (statistics_.misses % 64 == 0) {
        flush_some();
    }
}

} // namespace pool
