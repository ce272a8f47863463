// Every way in which control can leave a function.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#define APART __attribute__((noipa, noinline))

static jmp_buf home;
static volatile long counter;

APART long leaf(long x) {
    return x * 2;
}

APART void jumper(int depth) {
    counter++;
    if (depth)
        jumper(depth - 1);
    else
        longjmp(home, 1);
    counter += 100;
}

APART long jumps(void) {
    if (setjmp(home) == 0)
        jumper(3);
    return leaf(counter) + 1;
}

APART long tail(long x) {
    counter += x;
    return leaf(x + 1);
}

APART void handler(int number) {
    counter += leaf(number);
}

APART long raises(void) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    return leaf(counter);
}

static sigjmp_buf refuge;
static volatile long zero;

#ifdef __aarch64__ // where a division by zero is no fault
#define FAULT SIGSEGV
#define fails() (*(volatile long *)zero)
#else
#define FAULT SIGFPE
#define fails() (7 / zero)
#endif

APART void escape(int number) {
    counter += number;
    siglongjmp(refuge, 1);
}

APART long escapes(void) {
    signal(FAULT, escape);
    if (sigsetjmp(refuge, 1) == 0)
        counter += fails();
    return leaf(counter) + 1;
}

APART void *worker(void *unused) {
    long sum = 0;
    (void)unused;
    for (int i = 0; i < 100; i++)
        sum += leaf(i);
    return (void *)sum;
}

APART long threads(void) {
    pthread_t started[3];
    long sum = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&started[i], 0, worker, 0);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(started[i], &result);
        sum += (long)result;
    }
    return sum;
}

int main(void) {
    printf("%ld\n", jumps() + tail(5) + raises() + escapes() + threads());
    return 0;
}
