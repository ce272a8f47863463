// A vector that grew: how many wait decides how long each scan takes. MODE 1 is slow.
#include <cstdlib>
#include <vector>
static volatile unsigned long sink;
struct Queue { std::vector<long> waiting; };
__attribute__((noinline)) static void scan(const Queue &queue) {
    for (unsigned long i = 0; i < queue.waiting.size(); i++) // scanned
        sink = sink + queue.waiting[i];
}
__attribute__((noinline)) static void fill(Queue &queue, long clients) {
    for (long i = 0; i < clients; i++)
        queue.waiting.push_back(i * 3); // filled
}
__attribute__((noinline)) static long clients_of(int mode) { return mode == 1 ? 3000 : 20; } // so many
int main(int argc, char **argv) {
    Queue queue;
    fill(queue, clients_of(argc > 1 ? std::atoi(argv[1]) : 0));
    for (int i = 0; i < 300; i++)
        scan(queue);
    return 0;
}
