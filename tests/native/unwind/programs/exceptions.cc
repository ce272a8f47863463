// C++ stacks, for ever: exceptions through many frames, destructors, algorithms with callbacks, streams.
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

static volatile unsigned long sink;

struct Guard {
    explicit Guard(unsigned long value) : value(value) {}
    ~Guard() { sink = sink + value; }
    unsigned long value;
};

struct Shape {
    virtual ~Shape() = default;
    virtual double area(unsigned depth) const = 0;
};

struct Square : Shape {
    __attribute__((noinline)) double area(unsigned depth) const override {
        Guard guard(depth);
        if (depth == 0)
            throw std::runtime_error("too deep " + std::to_string(sink));
        return area(depth - 1) + 1;
    }
};

struct Circle : Shape {
    __attribute__((noinline)) double area(unsigned depth) const override {
        alignas(64) volatile char bytes[64] = {};
        bytes[depth % 64] = 1;
        std::vector<unsigned> values(40);
        for (unsigned i = 0; i < values.size(); i++)
            values[i] = i * 2654435761u + depth;
        std::sort(values.begin(), values.end(), [&](unsigned a, unsigned b) { return (a ^ depth) < (b ^ depth); });
        return depth == 0 ? values[0] : area(depth - 1) + bytes[0];
    }
};

__attribute__((noinline)) static double guarded(const Shape &shape, unsigned depth) {
    try {
        Guard guard(2);
        return shape.area(depth);
    } catch (const std::logic_error &) {
        return 1;
    }
}

int main() {
    Square square;
    Circle circle;
    std::map<std::string, std::function<double(unsigned)>> work = {
        {"square", [&](unsigned n) { return guarded(square, n % 30); }},
        {"circle", [&](unsigned n) { return guarded(circle, n % 6); }},
        {"stream", [](unsigned n) {
             std::ostringstream text;
             text << "ababc" << n << ' ' << n / 3.0;
             std::istringstream back(text.str());
             std::string word;
             double value = 0;
             back >> word >> value;
             return value;
         }}};
    for (unsigned n = 0;; n++)
        for (auto &[name, function] : work)
            try {
                sink = sink + static_cast<unsigned long>(function(n));
            } catch (const std::exception &error) {
                sink = sink + std::string(error.what()).size();
            }
}
