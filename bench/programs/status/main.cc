// status TABLES TRANSACTIONS QUESTIONS: three threads run transactions, a fourth asks for the status now and then.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "dictionary.h"
#include "monitor.h"
#include "transactions.h"

namespace {

constexpr unsigned threads = 3;

void work(status::Dictionary &dictionary, unsigned number, std::uint32_t tables, std::uint32_t transactions,
          std::atomic<std::uint64_t> &done, std::atomic<std::uint64_t> &digest) {
    status::Transactions mine(dictionary, number * 7919 + 1, tables);
    for (std::uint32_t i = 0; i < transactions; i++) {
        mine.run_one();
        done++;
    }
    digest ^= mine.digest();
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: status TABLES TRANSACTIONS QUESTIONS\n");
        return 2;
    }
    auto tables = static_cast<std::uint32_t>(std::atol(argv[1]));
    auto transactions = static_cast<std::uint32_t>(std::atol(argv[2]));
    auto questions = static_cast<std::uint64_t>(std::atol(argv[3]));
    status::Dictionary dictionary;
    for (std::uint32_t id = 0; id < tables; id++) {
        dictionary.add(id);
    }
    std::atomic<std::uint64_t> done{0}, digest{0};
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads; i++) {
        workers.emplace_back(work, std::ref(dictionary), i, tables, transactions / threads, std::ref(done),
                             std::ref(digest));
    }
    status::Monitor monitor(dictionary);
    status::Figures figures;
    std::size_t printed = 0;
    for (std::uint64_t question = 0; question < questions; question++) {
        while (done < question * (transactions / threads * threads) / questions) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        figures.transactions = done;
        figures.uptime = question;
        printed += monitor.report(figures).size();
    }
    for (std::thread &worker : workers) {
        worker.join();
    }
    std::printf("tables=%zu digest=%016llx reported=%d\n", dictionary.count(),
                static_cast<unsigned long long>(digest.load()), printed > 0);
    return 0;
}
