#include <benchmark/benchmark.h>

#include <cstdint>

__attribute__((noinline)) static uint64_t churn(uint64_t rounds)
{
    uint64_t x = 88172645463325252ull;
    for (uint64_t i = 0; i < rounds; i++) {
        asm volatile("" : "+r"(x));
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static void BM_churn(benchmark::State &state)
{
    for (auto _ : state)
        benchmark::DoNotOptimize(churn(ROUNDS));
}
BENCHMARK(BM_churn);

static void BM_churn_more(benchmark::State &state)
{
    for (auto _ : state)
        benchmark::DoNotOptimize(churn(100));
}
BENCHMARK(BM_churn_more);

BENCHMARK_MAIN();
