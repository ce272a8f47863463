// An executor of one worker, which takes tasks from a ring that it polls: no lock, no futex, nothing that the kernel sees.
//
// Stalled: a report of many pages, queued by the scheduler, is being printed when the main thread's query comes. The
// decoder, which has nothing to do with it, is the busiest thread all the time.
#include <atomic>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <thread>
#include <unistd.h>

struct Task {
    void (*work)();
    std::atomic<bool> done{false};
};

static std::atomic<Task *> ring[64];
static std::atomic<unsigned> head, tail;
static std::atomic<bool> over;
static bool stalled;
static int printer;

static void rest(int microseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

__attribute__((noinline)) static void print_page() {
    (void)!write(printer, "page", 4);
    rest(4000);
}

__attribute__((noinline)) static void print_report() {
    for (int page = 0; page < (stalled ? 300 : 1); page++)
        print_page();
}

__attribute__((noinline)) static void answer_query() {
    rest(100);
}

class Executor {
public:
    __attribute__((noinline)) static void submit(Task *task) {
        ring[tail.fetch_add(1) % 64].store(task);
    }

    __attribute__((noinline)) static void execute(Task *task) {
        task->work();
        task->done.store(true);
    }
};

static void worker() {
    pthread_setname_np(pthread_self(), "worker");
    while (!over) {
        Task *task = ring[head % 64].exchange(nullptr);
        if (task) {
            head++;
            Executor::execute(task);
        } else {
            rest(100);
        }
    }
}

static void decoder() {
    pthread_setname_np(pthread_self(), "decoder");
    for (volatile unsigned frame = 0; !over; rest(300))
        for (auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
             std::chrono::steady_clock::now() < end;)
            frame = frame + 1;
}

static Task report;

static void scheduler() {
    pthread_setname_np(pthread_self(), "scheduler");
    rest(1200000);
    report.work = print_report;
    Executor::submit(&report);
}

__attribute__((noinline)) static void await(Task &task) {
    while (!task.done)
        rest(300);
}

int main(int argc, char **argv) {
    stalled = argc > 1 && std::strcmp(argv[1], "stalled") == 0;
    printer = open("/dev/null", O_WRONLY);
    std::thread threads[] = {std::thread(worker), std::thread(decoder), std::thread(scheduler)};
    for (int turn = 0; turn < 150; turn++) {
        Task query;
        query.work = answer_query;
        Executor::submit(&query);
        await(query);
        rest(10000);
    }
    over = true;
    for (std::thread &thread : threads)
        thread.join();
}
