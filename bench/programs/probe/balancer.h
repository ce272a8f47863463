// A load balancer without sockets: backends answer at once or late, and time is counted in ticks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arena.h"
#include "buffer.h"
#include "journal.h"
#include "message.h"

namespace probe {

struct Backend {
    std::string name;
    std::uint64_t interval = 30; // ticks between health checks
    std::uint64_t checked = 0;   // when it was checked last
    std::uint64_t delay = 1;     // ticks until it answers a check
    std::uint32_t served = 0, checks = 0;
    bool healthy = true;
};

// One exchange with a backend: a request is composed, and its reply read.
class Exchange {
  public:
    Exchange() = default;
    ~Exchange();
    Exchange(const Exchange &) = delete;
    Exchange &operator=(const Exchange &) = delete;

    int run(const Backend &backend, std::uint32_t serial, std::size_t page_lines);
    std::uint64_t digest() const { return digest_; }

  private:
    void answer(const message &request, std::size_t page_lines);

    buffer request_{}, page_{}, reply_{};
    arena arena_{};
    std::uint64_t digest_ = 0;
};

class Balancer {
  public:
    explicit Balancer(std::vector<Backend> backends) : backends_(std::move(backends)) {
        journal_.least = JOURNAL_NOTICE;
    }
    ~Balancer() { journal_free(&journal_); }
    Balancer(const Balancer &) = delete;
    Balancer &operator=(const Balancer &) = delete;

    void serve(std::uint64_t now, std::uint32_t requests);
    std::vector<Backend> &backends() { return backends_; }
    std::uint64_t digest() const { return exchange_.digest(); }

  private:
    Backend *choose(const std::string &session);

    std::vector<Backend> backends_;
    Exchange exchange_;
    journal journal_{};
    std::uint32_t serial_ = 0;
};

} // namespace probe
