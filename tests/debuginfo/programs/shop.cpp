#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace shop {
namespace {
int hidden(int x) { return x * 3 + 1; }
}
template <class T> class Basket {
    std::vector<T> items_;

  public:
    void add(T item) { items_.push_back(item); }
    T total() const;
    struct Visitor;
    template <class F> void each(F visit) const {
        for (const T &item : items_)
            visit(item);
    }
};
template <class T> T Basket<T>::total() const {
    T sum{};
    each([&sum](const T &item) { sum += item; });
    return sum;
}
struct Clerk {
    struct Desk;
    static int serve(int n);
    int operator()(int a) const { return hidden(a) + 2; }
    bool operator<(const Clerk &) const { return true; }
};
struct Clerk::Desk {
    int work(int n);
};
int Clerk::Desk::work(int n) { return n > 1 ? n * work(n - 1) : 1; }
int overloaded(int a) { return a + rand(); }
int overloaded(double a) { return (int)a - rand(); }
int Clerk::serve(int n) {
    if (__builtin_expect(n < 0, 0)) {
        std::fprintf(stderr, "negative %d\n", n);
        std::abort();
    }
    std::map<std::string, int> counts;
    for (int i = 0; i < n; i++)
        counts[std::to_string(i % 7)] += hidden(i);
    int sum = 0;
    for (auto &pair : counts)
        sum += pair.second;
    return sum;
}
} // namespace shop

int main(int argc, char **argv) {
    (void)argv;
    shop::Basket<int> basket;
    shop::Basket<double> dear;
    for (int i = 0; i < argc * 100; i++) {
        basket.add(shop::Clerk::serve(i % 50));
        dear.add(i * 0.5 + shop::overloaded(i) + shop::overloaded(i * 2.0));
    }
    std::vector<int> order(100);
    std::generate(order.begin(), order.end(), std::rand);
    std::sort(order.begin(), order.end(), [](int a, int b) { return shop::Clerk()(a) < shop::Clerk()(b); });
    shop::Clerk::Desk desk;
    try {
        if (argc > 5)
            throw std::string("many");
    } catch (const std::string &problem) {
        std::printf("%s\n", problem.c_str());
    }
    std::printf("%d %f %d %d\n", basket.total(), dear.total(), order[3], desk.work(argc + 4));
}
