// pool THREADS REQUESTS WRITES_PERCENT FLUSH_BATCH: threads that serve requests out of one buffer pool.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>

#include "pool.h"
#include "request.h"

namespace {

constexpr std::size_t frames = 8192;
constexpr std::uint32_t pages = 12000;

struct Totals {
    std::atomic<std::uint64_t> answered{0}, refused{0}, bytes{0};
};

// Requests pass through a queue, so that threads wait for each other as they do in a server.
class Queue {
  public:
    void push(std::string text) {
        std::unique_lock<std::mutex> held(lock_);
        room_.wait(held, [this] { return texts_.size() < 256; });
        texts_.push_back(std::move(text));
        filled_.notify_one();
    }

    bool pop(std::string &text) {
        std::unique_lock<std::mutex> held(lock_);
        filled_.wait(held, [this] { return !texts_.empty() || closed_; });
        if (texts_.empty()) {
            return false;
        }
        text = std::move(texts_.front());
        texts_.pop_front();
        room_.notify_one();
        return true;
    }

    void close() {
        std::lock_guard<std::mutex> held(lock_);
        closed_ = true;
        filled_.notify_all();
    }

  private:
    std::mutex lock_;
    std::condition_variable filled_, room_;
    std::deque<std::string> texts_;
    bool closed_ = false;
};

void serve(Queue &queue, pool::BufferPool &buffers, Totals &totals) {
    std::string text;
    while (queue.pop(text)) {
        try {
            pool::Request request = pool::parse(text);
            pool::Frame *frame = buffers.fetch(request.page);
            std::string out = pool::answer(request, frame->bytes);
            buffers.release(frame, request.write);
            totals.bytes += out.size() > 0;
            totals.answered++;
        } catch (const pool::BadRequest &) {
            totals.refused++;
        }
    }
}

void produce(Queue &queue, std::uint32_t requests, std::uint32_t writes_percent) {
    std::uint32_t state = 12345;
    for (std::uint32_t serial = 0; serial < requests; serial++) {
        state = state * 1664525u + 1013904223u;
        std::uint32_t page = (state >> 8) % pages;
        queue.push(pool::compose(serial, page, serial * 37 % 100 < writes_percent));
    }
    queue.close();
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: pool THREADS REQUESTS WRITES_PERCENT FLUSH_BATCH\n");
        return 2;
    }
    int threads = std::atoi(argv[1]);
    auto requests = static_cast<std::uint32_t>(std::atol(argv[2]));
    pool::BufferPool buffers(frames, static_cast<std::size_t>(std::atol(argv[4])));
    Queue queue;
    Totals totals;
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++) {
        workers.emplace_back(serve, std::ref(queue), std::ref(buffers), std::ref(totals));
    }
    produce(queue, requests, static_cast<std::uint32_t>(std::atol(argv[3])));
    for (std::thread &worker : workers) {
        worker.join();
    }
    std::printf("answered=%llu refused=%llu\n", static_cast<unsigned long long>(totals.answered),
                static_cast<unsigned long long>(totals.refused));
    return 0;
}
