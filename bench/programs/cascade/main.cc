// cascade CUSTOMERS CHILDREN BATCH: deletes all customers with their orders and lines, so many in a transaction.
#include <cstdio>
#include <cstdlib>

#include "lookup.h"
#include "roll.h"
#include "store.h"

namespace {

struct Shop {
    cascade::Table customers{"customers"}, orders{"orders"}, lines{"order_lines"};
    cascade::Reference orders_follow{&orders, true}, lines_follow{&lines, true};

    Shop() {
        customers.referred_by.push_back(&orders_follow);
        orders.referred_by.push_back(&lines_follow);
    }
};

std::string sentence(std::uint32_t *state) {
    static const char *const words[] = {"blue", "lamp", "of", "glass", "with", "cable", "2m", "(old stock)"};
    std::string text;
    for (std::uint32_t i = 0; i < 3 + roll_below(state, 10); i++) {
        text += words[roll_below(state, 8)];
        text += ' ';
    }
    return text;
}

void fill(Shop &shop, std::uint32_t customers, std::uint32_t children) {
    std::uint32_t state = 17;
    std::uint64_t order = 0, line = 0;
    for (std::uint32_t customer = 0; customer < customers; customer++) {
        shop.customers.insert(customer, 0, sentence(&state));
        for (std::uint32_t i = 0; i < children; i++, order++) {
            shop.orders.insert(order, customer, sentence(&state));
            for (std::uint32_t j = 0; j < children; j++, line++) {
                shop.lines.insert(line, order, sentence(&state));
            }
        }
    }
}

// What the shop's reports look up all day.
std::uint64_t report(Shop &shop, std::uint32_t lookups) {
    struct lookup words = {};
    std::uint32_t state = 3;
    std::uint64_t found = 0;
    for (std::uint32_t i = 0; i < lookups; i++) {
        if (const cascade::Row *row =
                shop.lines.find(roll_below(&state, static_cast<std::uint32_t>(shop.lines.size())))) {
            void **slot = lookup_slot(&words, row->text.c_str());
            *slot = static_cast<char *>(*slot) + 1;
            found++;
        }
    }
    lookup_free(&words);
    return found;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: cascade CUSTOMERS CHILDREN BATCH\n");
        return 2;
    }
    auto customers = static_cast<std::uint32_t>(std::atol(argv[1]));
    auto batch = static_cast<std::uint32_t>(std::atol(argv[3]));
    Shop shop;
    fill(shop, customers, static_cast<std::uint32_t>(std::atol(argv[2])));
    std::uint64_t found = report(shop, 300000);
    cascade::Session session(false);
    std::size_t removed = 0;
    for (std::uint32_t customer = 0; customer < customers; customer++) {
        removed += session.remove(shop.customers, customer);
        if (customer % batch == batch - 1) {
            session.commit();
        }
    }
    session.commit();
    std::printf("found=%llu removed=%zu digest=%016llx\n", static_cast<unsigned long long>(found), removed,
                static_cast<unsigned long long>(session.digest()));
    return 0;
}
