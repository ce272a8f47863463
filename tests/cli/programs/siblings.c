// A library that is stripped: only what it exports has a name.
static volatile unsigned long sum;

__attribute__((noinline)) static void step(long from, long to) {
    for (long at = from; at < to; at++)
        sum += (sum * 31) ^ (unsigned long)at;
}

void visit_siblings(long count) {
    for (long number = 0; number < count; number++)
        step(0, number);
    sum++;
}
