// Members, references, containers, templates and inlining.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace depot {

struct Part {
    int number;
    double price;
    std::string name;
};

class Store {
  public:
    explicit Store(int capacity) : capacity_(capacity) {}
    virtual ~Store() = default;
    virtual int fee(int amount) const { return amount / 10 + base_fee; }

    void add(const Part &part) {
        if (static_cast<int>(parts_.size()) < capacity_)
            parts_.push_back(part);
        else
            refused_++;
        index_[part.name] = part.number;
    }

    __attribute__((noinline)) double value() const {
        double sum = 0;
        for (const Part &part : parts_)
            sum += part.price * weight(part);
        return sum;
    }

    __attribute__((noinline)) int find(const std::string &name, int &steps) const {
        for (std::size_t i = 0; i < parts_.size(); i++) {
            steps++;
            if (parts_[i].name == name)
                return static_cast<int>(i);
        }
        return -1;
    }

    static int base_fee;

  protected:
    int weight(const Part &part) const {
        int heavy = part.number % 4;
        return heavy + 1;
    }

    int capacity_;
    int refused_ = 0;
    std::vector<Part> parts_;
    std::map<std::string, int> index_;
    std::atomic<long> lookups_{0};
};

int Store::base_fee = 3;

class Outlet : public Store {
  public:
    Outlet(int capacity, float discount) : Store(capacity), discount_(discount) {}
    __attribute__((noinline)) int fee(int amount) const override {
        int reduced = static_cast<int>(static_cast<float>(amount) * discount_);
        return reduced + capacity_;
    }
    __attribute__((noinline)) long sell(int from, int to) {
        long earned = 0;
        for (int i = from; i < to && i < static_cast<int>(parts_.size()); i++) {
            Part &part = parts_[static_cast<std::size_t>(i)];
            earned += static_cast<long>(part.price) - fee(part.number);
            part.price *= 0.5;
            lookups_++;
        }
        return earned;
    }

  private:
    float discount_;
};

class Shelf : public std::vector<int> {
  public:
    __attribute__((noinline)) int after(int number) const {
        int found = 0;
        for (int one : *this)
            found += one > number;
        return found + wide;
    }
    int wide = 4;
};

template <typename T> __attribute__((noinline)) T largest(const std::vector<T> &values, T at_least) {
    T best = at_least;
    for (const T &value : values) {
        if (value > best)
            best = value;
    }
    return best;
}

} // namespace depot

namespace {
int failures;
unsigned long long ticks = 5;
} // namespace

__attribute__((noinline)) static std::size_t lengths(std::vector<std::string> names, bool doubled) {
    std::size_t sum = 0;
    for (auto &name : names) {
        std::size_t length = name.size();
        sum += doubled ? 2 * length : length;
    }
    return sum;
}

__attribute__((noinline)) static int shift_all(const std::vector<int> &values, int offset) {
    int calls = 0;
    auto shift = [&calls, offset](int value) {
        calls++;
        int moved = value + offset;
        return moved % 17;
    };
    int result = 0;
    for (int value : values)
        result += shift(value);
    return result + calls;
}

int main(int argc, char **) {
    auto store = std::make_unique<depot::Outlet>(40, 0.25f);
    std::vector<int> numbers;
    std::vector<double> prices;
    for (int i = 0; i < 50 + argc; i++) {
        depot::Part part{i * 7 % 31, 1.5 * i, "part" + std::to_string(i)};
        store->add(part);
        numbers.push_back(part.number);
        prices.push_back(part.price);
        ticks += static_cast<unsigned long long>(part.number);
    }
    int steps = 0;
    int where = store->find("part20", steps);
    where += store->find("nothing", steps);
    long earned = store->sell(3, 25);
    double value = store->value();
    int top = depot::largest(numbers, 4);
    double dear = depot::largest(prices, 0.5);
    std::size_t characters = lengths({"a", "bb", "ccc"}, argc == 1);
    depot::Shelf shelf;
    for (int number : numbers)
        shelf.push_back(number + argc);
    where += shelf.after(12);
    int applied = shift_all(numbers, argc + 2);
    failures += where < 0;
    std::printf("%d %d %ld %f %d %f %zu %d %d %llu\n", where, steps, earned, value, top, dear, characters, applied,
                failures, ticks);
    return 0;
}
