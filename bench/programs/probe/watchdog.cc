#include "watchdog.h"

namespace probe {

void Watchdog::start_check(Backend *backend, std::uint64_t now) {
    started_++;
    backend->checks++;
    int status = exchange_.run(*backend, static_cast<std::uint32_t>(started_), 60);
    running_.push_back({backend, now, now + backend->delay, status});
}

// A check that ends says when it began, and only then: one that takes longer than the interval leaves a time behind
// that is past already.
void Watchdog::finish_checks(std::uint64_t now) {
    while (!running_.empty() && running_.front().ends <= now) {
        const RunningCheck &check = running_.front();
        check.backend->checked = check.started;
        check.backend->healthy = check.status == 200;
        running_.pop_front();
    }
}

void Watchdog::heartbeat(std::uint64_t now) {
    finish_checks(now);
    for (Backend &each : balancer_.backends()) {
        Backend *backend = &each;
        std::uint64_t elapsed = now - backend->checked;
        if (elapsed >= backend->interval) {
            start_check(backend, now);
        }
    }
}

} // namespace probe
