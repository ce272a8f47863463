// Health checks: at every heartbeat those backends are asked that were not asked for a while.
#pragma once

#include <cstdint>
#include <deque>

#include "balancer.h"

namespace probe {

struct RunningCheck {
    Backend *backend;
    std::uint64_t started, ends;
    int status;
};

class Watchdog {
  public:
    explicit Watchdog(Balancer &balancer) : balancer_(balancer) {}
    void heartbeat(std::uint64_t now);
    std::uint64_t started() const { return started_; }

  private:
    void start_check(Backend *backend, std::uint64_t now);
    void finish_checks(std::uint64_t now);

    Balancer &balancer_;
    Exchange exchange_;
    std::deque<RunningCheck> running_;
    std::uint64_t started_ = 0;
};

} // namespace probe
