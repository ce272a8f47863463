// probe TICKS REQUESTS DELAY: so many requests a tick; the backends answer health checks after so many ticks.
#include <cstdio>
#include <cstdlib>

#include "balancer.h"
#include "watchdog.h"

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: probe TICKS REQUESTS DELAY\n");
        return 2;
    }
    std::vector<probe::Backend> backends(6);
    for (std::size_t i = 0; i < backends.size(); i++) {
        backends[i].name = "backend" + std::to_string(i) + ".internal.example";
        backends[i].delay = static_cast<std::uint64_t>(std::atol(argv[3]));
    }
    probe::Balancer balancer(std::move(backends));
    probe::Watchdog watchdog(balancer);
    auto ticks = static_cast<std::uint64_t>(std::atol(argv[1]));
    for (std::uint64_t now = 0; now < ticks; now++) {
        balancer.serve(now, static_cast<std::uint32_t>(std::atol(argv[2])));
        watchdog.heartbeat(now);
    }
    std::printf("digest=%016llx checks=%llu\n", static_cast<unsigned long long>(balancer.digest()),
                static_cast<unsigned long long>(watchdog.started()));
    return 0;
}
