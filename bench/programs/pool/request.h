// What a client asks for: parsed from text, answered as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pool {

struct Request {
    std::string verb;
    std::uint32_t page = 0;
    bool write = false;
    std::map<std::string, std::string> options;
};

class BadRequest : public std::exception {
  public:
    explicit BadRequest(std::string sentence) : sentence_(std::move(sentence)) {}
    const char *what() const noexcept override { return sentence_.c_str(); }

  private:
    std::string sentence_;
};

std::string compose(std::uint32_t serial, std::uint32_t page, bool write);
Request parse(std::string_view text);
std::uint32_t digest(const unsigned char *bytes, std::size_t size);
std::string answer(const Request &request, const std::vector<unsigned char> &bytes);

} // namespace pool
