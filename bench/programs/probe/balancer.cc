#include "balancer.h"

#include <cstring>

#include "digest.h"
#include "pack.h"
#include "words.h"

namespace probe {

Exchange::~Exchange() {
    buffer_free(&request_);
    buffer_free(&page_);
    buffer_free(&reply_);
    arena_clear(&arena_);
}

void Exchange::answer(const message &request, std::size_t page_lines) {
    page_.size = 0;
    for (std::size_t line = 0; line < page_lines; line++) {
        buffer_text(&page_, "<td>");
        buffer_quoted(&page_, request.path);
        buffer_number(&page_, line);
        buffer_text(&page_, "</td>");
    }
    reply_.size = 0;
    compose_reply(&reply_, 200, page_.bytes, page_.size);
}

int Exchange::run(const Backend &backend, std::uint32_t serial, std::size_t page_lines) {
    message request{}, reply{};
    std::uint64_t status = 0;
    request_.size = 0;
    compose_request(&request_, backend.name.c_str(), serial, 0);
    if (parse_message(request_.bytes, request_.size, &arena_, &request)) {
        answer(request, page_lines);
        if (parse_message(reply_.bytes, reply_.size, &arena_, &reply) && read_number(reply.path, &status)) {
            digest_ ^= crc_of(reply.body, reply.body_size);
        }
    }
    arena_clear(&arena_);
    return static_cast<int>(status);
}

// Sessions stay with their backend as long as it is healthy.
Backend *Balancer::choose(const std::string &session) {
    std::size_t first = mix_of(session.data(), session.size(), 5) % backends_.size();
    for (std::size_t i = 0; i < backends_.size(); i++) {
        Backend &backend = backends_[(first + i) % backends_.size()];
        if (backend.healthy) {
            return &backend;
        }
    }
    return nullptr;
}

void Balancer::serve(std::uint64_t now, std::uint32_t requests) {
    for (std::uint32_t i = 0; i < requests; i++) {
        serial_++;
        Backend *backend = choose("session-" + std::to_string(serial_ * 7919 % 500));
        if (backend) {
            int status = exchange_.run(*backend, serial_, 12 + serial_ % 20);
            backend->served++;
            journal_write(&journal_, JOURNAL_NOTICE, now, backend->name.c_str(), "status",
                          static_cast<std::uint64_t>(status));
        }
    }
}

} // namespace probe
