// A plan whose two numbers are copied from two other places: on x86-64, compilers store both with one instruction.
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

struct plan {
    long first, rounds;
};
struct order {
    long kind, many;
};

static APART void decide(struct order *order, long asked) {
    order->kind = 7;
    order->many = asked * 50; // here the number is made
}

static APART void copy(struct plan *plan, const struct order *one, const struct order *other) {
    plan->first = one->kind;
    plan->rounds = other->many; // here it is copied
}

static APART long work(const struct plan *plan) {
    volatile long sum = plan->first;
    for (long i = 0; i < plan->rounds; i++) // the loop that costs
        sum += i;
    return sum;
}

int main(int argc, char **argv) {
    struct order *one = malloc(sizeof *one), *other = malloc(sizeof *other);
    struct plan *plan = malloc(sizeof *plan);
    decide(one, 1);
    decide(other, argc < 2 ? 1 : atol(argv[1]));
    copy(plan, one, other);
    printf("%ld\n", work(plan));
}
