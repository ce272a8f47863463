// Stacks of many shapes, for ever: recursion, callbacks out of libc, variable and realigned frames, signal handlers,
// libraries opened at run time, string and number formatting.
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <regex.h>
#include <search.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile unsigned long sink;
typedef unsigned long (*work_fn)(unsigned long, unsigned long);

__attribute__((noinline)) static unsigned long busy(unsigned long a, unsigned long b) {
    unsigned long c = a ^ b, d = a + 3, e = b * 7, f = a * b, g = a - b, h = a + b;
    for (int i = 0; i < 40; i++) {
        c += d * e;
        d ^= f + g;
        e -= h * c;
        f += e ^ d;
        g = g * 31 + c;
        h ^= g + f;
    }
    return c + d + e + f + g + h;
}

__attribute__((noinline)) static unsigned long with_alloca(unsigned long a, unsigned long b) {
    unsigned char *bytes = alloca(16 + (a & 255));
    memset(bytes, (int)b, 16 + (a & 255));
    return busy(bytes[3], a) + b;
}

__attribute__((noinline)) static unsigned long realigned(unsigned long a, unsigned long b) {
    _Alignas(64) volatile unsigned char bytes[128];
    bytes[a & 127] = (unsigned char)b;
    unsigned long result = with_alloca(a, b);
    return result + bytes[b & 127];
}

__attribute__((noinline)) static unsigned long realigned_with_alloca(unsigned long a, unsigned long b) {
    _Alignas(64) volatile unsigned char bytes[64];
    unsigned char *more = alloca(64 + (b & 511));
    bytes[a & 63] = more[a & 63] = (unsigned char)a;
    return busy(bytes[b & 63], more[a & 63]) + realigned(b, a);
}

static work_fn WORK[] = {busy, with_alloca, realigned, realigned_with_alloca};

__attribute__((noinline)) static unsigned long recurse(unsigned depth, unsigned long a) {
    unsigned long b = a * 6364136223846793005ul + depth;
    if (depth == 0)
        return WORK[a % 4](a, b);
    unsigned long c = recurse(depth - 1, b);
    return c ^ (b >> 3) ^ a;
}

__attribute__((noinline)) static unsigned long tail(unsigned depth, unsigned long a) {
    if (depth == 0)
        return busy(a, a);
    return tail(depth - 1, a * 3 + 1);
}

static int compare(const void *a, const void *b) {
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    sink += recurse(2, x);
    return (x > y) - (x < y);
}

static void visit(const void *node, VISIT order, int level) {
    (void)node;
    if (order == leaf || order == postorder)
        sink += recurse((unsigned)level, 5);
}

static void use_libc(unsigned long seed) {
    unsigned values[24];
    char text[200];
    void *tree = NULL;
    regex_t pattern;
    for (unsigned i = 0; i < 24; i++)
        values[i] = (unsigned)(seed * (i + 77) >> 5);
    qsort(values, 24, sizeof *values, compare);
    for (unsigned i = 0; i < 24; i++)
        tsearch(&values[i], &tree, compare);
    twalk(tree, visit);
    tdestroy(tree, (void (*)(void *))strlen);
    snprintf(text, sizeof text, "%.17g %s %Lf", (double)seed / 3, "text", (long double)seed);
    sink += (unsigned long)strtod(text, NULL);
    if (regcomp(&pattern, "(a|b)*c[0-9]+", REG_EXTENDED) == 0) {
        sink += (unsigned long)regexec(&pattern, "abababc1234", 0, NULL, 0);
        regfree(&pattern);
    }
}

static void use_libraries(void) {
    static const unsigned char bytes[4096] = {1, 2, 3};
    static unsigned char out[8192];
    void *z = dlopen("libz.so.1", RTLD_NOW), *crypto = dlopen("libcrypto.so.3", RTLD_LAZY);
    if (z) {
        unsigned long size = sizeof out;
        int (*compress)(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
        *(void **)&compress = dlsym(z, "compress");
        compress(out, &size, bytes, sizeof bytes);
    }
    if (crypto) {
        unsigned char *(*sha)(const unsigned char *, size_t, unsigned char *);
        *(void **)&sha = dlsym(crypto, "SHA256");
        sha(bytes, sizeof bytes, out);
        *(void **)&sha = dlsym(crypto, "SHA1");
        sha(bytes, sizeof bytes, out);
    }
    if (z)
        dlclose(z);
}

static void on_signal(int number) {
    sink += recurse(4, (unsigned long)number);
    if (number == SIGALRM)
        raise(SIGUSR1);
}

int main(void) {
    static char other_stack[64 * 1024];
    stack_t alternate = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART}, NULL);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 5000}, {0, 5000}}, NULL);
    for (unsigned long round = 0;; round++) {
        sink += recurse((unsigned)(round % 40), round);
        sink += tail(30, round);
        use_libc(round);
        if (round % 8 == 0)
            use_libraries();
    }
}
