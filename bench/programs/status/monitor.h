// The server's status as text, for whoever asks.
#pragma once

#include <cstdint>
#include <string>

#include "dictionary.h"

namespace status {

struct Figures {
    std::uint64_t transactions = 0, waits = 0, uptime = 0;
};

class Monitor {
  public:
    explicit Monitor(const Dictionary &dictionary) : dictionary_(dictionary) {}
    std::string report(const Figures &figures) const;

  private:
    void add_section(std::string &text, const char *title) const;
    void add_figure(std::string &text, const char *name, std::uint64_t figure) const;

    const Dictionary &dictionary_;
};

} // namespace status
