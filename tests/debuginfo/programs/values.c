// Every kind of variable that C has, in code that keeps them alive at -O2.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum colour { RED, GREEN = 5, BLUE = -3 };

struct point {
    int x, y;
};

struct node {
    uint64_t key;
    int32_t weight;
    unsigned depth : 5, flags : 3;
    bool seen;
    enum colour colour;
    float ratio;
    double score;
    struct point at;
    struct node *left, *right;
    char label[16];
    union {
        int whole;
        float part;
    };
    struct {
        short inner;
    };
};

struct pair {
    long first;
    int second, third;
};

int total_nodes;
static long long checksum;
static __thread int thread_visits;
struct node *root;
struct point origin = {3, 4};
const int limit = 40;

static inline __attribute__((always_inline)) int clamp(int value, int low, int high) {
    int result = value < low ? low : value;
    return result > high ? high : result;
}

__attribute__((noinline)) static struct node *make(uint64_t key, int weight, double score) {
    struct node *made = calloc(1, sizeof *made);
    static int serial;
    made->key = key;
    made->weight = clamp(weight, -50, 50);
    made->depth = key % 31;
    made->seen = key & 1;
    made->colour = weight % 3 == 0 ? RED : weight % 3 == 1 ? GREEN : BLUE;
    made->ratio = (float)weight / 3.0f;
    made->score = score;
    made->at.x = (int)key - 100;
    made->at.y = ++serial;
    snprintf(made->label, sizeof made->label, "n%d", serial);
    total_nodes++;
    return made;
}

__attribute__((noinline)) static int insert(struct node **where, struct node *one) {
    int steps = 0;
    while (*where) {
        struct node *here = *where;
        steps++;
        where = one->key < here->key ? &here->left : &here->right;
    }
    *where = one;
    return steps;
}

__attribute__((noinline)) static double walk(const struct node *at, int depth, int *deepest) {
    if (!at)
        return 0.5;
    if (depth > *deepest)
        *deepest = depth;
    thread_visits++;
    double left = walk(at->left, depth + 1, deepest);
    double right = walk(at->right, depth + 1, deepest);
    double mean = (left + right) / 2.0 + at->score;
    checksum += at->weight * depth;
    return mean;
}

__attribute__((noinline)) static struct pair split(struct pair whole, int by) {
    struct pair result = {whole.first / by, whole.second % by, whole.third + by};
    if (result.second < 0) {
        int debt = -result.second;
        result.first -= debt;
    }
    return result;
}

__attribute__((noinline)) static long many(int a, long b, short c, unsigned char d, unsigned e, int64_t f, int g, long h,
                                           float i, double j) {
    long sum = a + b;
    sum += c * d;
    for (unsigned round = 0; round < e % 7; round++)
        sum = sum * 3 + (f ^ g) + (long)round;
    if (i > 1.5f)
        sum += (long)(j * 10);
    return sum - h;
}

__attribute__((noinline)) static int histogram(const unsigned char *bytes, size_t count, int buckets) {
    int counts[buckets];
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < count; i++)
        counts[bytes[i] % buckets]++;
    int most = 0;
    for (int i = 1; i < buckets; i++) {
        if (counts[i] > counts[most])
            most = i;
    }
    return most;
}

__attribute__((noinline)) static int late(int selector) {
    int chosen;
    long unused_until_here;
    if (selector > 2)
        chosen = selector * 7;
    else
        chosen = -selector;
    unused_until_here = chosen * 11L;
    {
        int chosen = (int)unused_until_here + 1;
        selector += chosen;
    }
    return chosen + selector;
}

__attribute__((noinline)) static unsigned mix(unsigned seed) {
    unsigned state = seed;
    for (int round = 0; round < 3; round++) {
        unsigned before = state;
        state ^= state << 13;
        state ^= state >> 17;
        int8_t small = (int8_t)before;
        state += (unsigned)clamp(small, -9, 9);
    }
    return state;
}

int main(int argc, char **argv) {
    (void)argv;
    unsigned seed = 17u + (unsigned)argc;
    int deepest = 0;
    long steps = 0;
    for (int i = 0; i < 60; i++) {
        seed = mix(seed);
        struct node *one = make(seed % 500, (int)(seed % 130) - 60, seed / 7.0);
        steps += insert(&root, one);
    }
    double mean = walk(root, 1, &deepest);
    struct pair start = {(long)seed, (int)(seed % 91) - 40, 3};
    for (int by = 2; by < 6; by++) {
        start = split(start, by);
        steps += many(by, steps, (short)by, 200, seed, steps * by, by - 9, 4, (float)by, mean);
        steps += late(by);
    }
    unsigned char bytes[100];
    for (int i = 0; i < 100; i++)
        bytes[i] = (unsigned char)(mix((unsigned)i) >> 5);
    int most = histogram(bytes, sizeof bytes, 11 + argc);
    printf("%ld %f %d %d %lld %d %d\n", steps, mean, deepest, most, checksum, total_nodes, thread_visits);
    return start.second == 12345 ? limit : origin.x - 3;
}
