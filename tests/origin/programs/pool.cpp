// A constructor's argument decides how much is flushed at once: BATCH.
#include <cstdlib>
#include <vector>

static volatile unsigned long sink;

class Pool {
  public:
    Pool(unsigned long pages, unsigned long batch) : pages_(pages, 1), flush_batch_(batch) {}
    unsigned long flush_some();

  private:
    std::vector<int> pages_;
    unsigned long flush_batch_;
};

__attribute__((noinline)) unsigned long Pool::flush_some() {
    unsigned long flushed = 0;
    for (unsigned long i = 0; i < pages_.size(); i++) {
        if (flushed == flush_batch_) // decides
            break;
        sink = sink + pages_[i];
        flushed++;
    }
    return flushed;
}

__attribute__((noinline)) static unsigned long planned(int mode) {
    return mode == 1 ? 1000 : 3; // the batch
}

int main(int argc, char **argv) {
    Pool pool(2000, planned(argc > 1 ? std::atoi(argv[1]) : 0));
    unsigned long total = 0;
    for (int i = 0; i < 300; i++)
        total += pool.flush_some();
    return total == 1;
}
