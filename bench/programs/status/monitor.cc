#include "monitor.h"

namespace status {

void Monitor::add_section(std::string &text, const char *title) const {
    std::string rule(std::string(title).size(), '-');
    text += rule + "\n" + title + "\n" + rule + "\n";
}

void Monitor::add_figure(std::string &text, const char *name, std::uint64_t figure) const {
    std::string digits = std::to_string(figure);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    text += name;
    text += ' ';
    text += digits;
    text += '\n';
}

std::string Monitor::report(const Figures &figures) const {
    std::string text;
    add_section(text, "BACKGROUND THREAD");
    add_figure(text, "uptime", figures.uptime);
    add_section(text, "SEMAPHORES");
    add_figure(text, "waits", figures.waits);
    add_section(text, "TRANSACTIONS");
    add_figure(text, "committed", figures.transactions);
    add_section(text, "BUFFER POOL AND MEMORY");
    add_figure(text, "dictionary memory allocated", dictionary_.memory_size());
    add_figure(text, "tables", dictionary_.count());
    return text;
}

} // namespace status
