// Exceptions across frames and threads, thread churn, condition variables, thread-local objects, at-exit order.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<long> destroyed{0}, thrown{0};

struct Counted {
    ~Counted() { destroyed++; }
    std::string text = std::string(100, 'x');
};

thread_local Counted per_thread;

int descend(int depth, int until) {
    Counted local;
    if (depth == until) {
        throw std::runtime_error("at " + std::to_string(depth));
    }
    return descend(depth + 1, until) + static_cast<int>(local.text.size());
}

void throw_and_catch(int rounds) {
    for (int i = 0; i < rounds; i++) {
        try {
            per_thread.text[0] = 'y';
            descend(0, i % 40);
        } catch (const std::runtime_error &error) {
            thrown += std::string(error.what()) == "at " + std::to_string(i % 40);
        }
    }
}

class Turnstile {
  public:
    void pass(int who, int count) {
        std::unique_lock<std::mutex> held(lock_);
        changed_.wait(held, [&] { return turn_ % count == who; });
        turn_++;
        changed_.notify_all();
    }
    long turns() const { return turn_; }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    long turn_ = 0;
};

} // namespace

int main() {
    std::vector<std::thread> throwers;
    for (int i = 0; i < 4; i++) {
        throwers.emplace_back(throw_and_catch, 6000);
    }
    Turnstile turnstile;
    std::vector<std::thread> walkers;
    for (int i = 0; i < 3; i++) {
        walkers.emplace_back([&, i] {
            for (int turn = 0; turn < 4000; turn++) {
                turnstile.pass(i, 3);
            }
        });
    }
    long futures = 0;
    for (int i = 0; i < 1000; i++) {
        futures += std::async(std::launch::async, [i] { return i % 7; }).get();
    }
    std::promise<int> broken;
    std::thread([&] {
        try {
            descend(0, 200);
        } catch (...) {
            broken.set_exception(std::current_exception());
        }
    }).join();
    std::string carried;
    try {
        broken.get_future().get();
    } catch (const std::exception &error) {
        carried = error.what();
    }
    for (auto *threads : {&throwers, &walkers}) {
        for (std::thread &thread : *threads) {
            thread.join();
        }
    }
    std::printf("thrown=%ld turns=%ld futures=%ld carried=%s destroyed=%ld\n", thrown.load(), turnstile.turns(),
                futures, carried.c_str(), destroyed.load());
    return 0;
}
