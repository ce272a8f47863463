#include "request.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace pool {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        std::size_t end = std::min(text.find(separator), text.size());
        if (end) {
            parts.push_back(text.substr(0, end));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::string lowered(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
    return out;
}

std::uint32_t to_number(std::string_view text) {
    std::uint32_t number = 0;
    for (char digit : text) {
        if (digit < '0' || digit > '9') {
            throw BadRequest("not a number: " + std::string(text));
        }
        number = number * 10 + static_cast<std::uint32_t>(digit - '0');
    }
    return number;
}

std::string escaped(std::string_view text) {
    std::string out;
    for (unsigned char c : text) {
        switch (c) {
        case '"':
            out += "\\\"";
            break;
        case '\\':
            out += "\\\\";
            break;
        default:
            if (c < 0x20) {
                out += '?';
            } else {
                out += static_cast<char>(c);
            }
        }
    }
    return out;
}

std::array<std::uint32_t, 256> histogram(const std::vector<unsigned char> &bytes) {
    std::array<std::uint32_t, 256> counts{};
    for (unsigned char byte : bytes) {
        counts[byte]++;
    }
    return counts;
}

std::string base64(const unsigned char *bytes, std::size_t size) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve(size * 4 / 3 + 4);
    for (std::size_t i = 0; i + 2 < size; i += 3) {
        std::uint32_t group = bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) {
            out += letters[group >> shift & 63];
        }
    }
    return out;
}

} // namespace

std::string compose(std::uint32_t serial, std::uint32_t page, bool write) {
    std::string text = write ? "PUT " : "GET ";
    text += std::to_string(page);
    text += " Serial=" + std::to_string(serial) + " Client=worker-" + std::to_string(serial % 7);
    text += " Trace=\"a\\b\" Accept=text/plain Priority=" + std::to_string(serial % 3);
    if (serial % 1000 == 999) {
        text = "GET page-" + std::to_string(page); // one in a thousand is malformed
    }
    return text;
}

Request parse(std::string_view text) {
    std::vector<std::string_view> parts = split(text, ' ');
    if (parts.size() < 2) {
        throw BadRequest("a verb and a page are needed");
    }
    Request request;
    request.verb = lowered(parts[0]);
    request.write = request.verb == "put";
    request.page = to_number(parts[1]);
    for (std::size_t i = 2; i < parts.size(); i++) {
        std::size_t equals = parts[i].find('=');
        if (equals != std::string_view::npos) {
            request.options[lowered(parts[i].substr(0, equals))] = std::string(parts[i].substr(equals + 1));
        }
    }
    return request;
}

std::uint32_t digest(const unsigned char *bytes, std::size_t size) {
    std::uint32_t low = 1, high = 0;
    for (std::size_t i = 0; i < size; i++) {
        low = (low + bytes[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

std::string answer(const Request &request, const std::vector<unsigned char> &bytes) {
    std::string out = "{\"page\":" + std::to_string(request.page);
    for (const auto &[name, value] : request.options) {
        out += ",\"" + escaped(name) + "\":\"" + escaped(value) + "\"";
    }
    auto counts = histogram(bytes);
    auto peak = std::max_element(counts.begin(), counts.end());
    out += ",\"peak\":" + std::to_string(peak - counts.begin());
    out += ",\"digest\":" + std::to_string(digest(bytes.data(), bytes.size()));
    out += ",\"head\":\"" + base64(bytes.data(), 96) + "\"}";
    return out;
}

} // namespace pool
