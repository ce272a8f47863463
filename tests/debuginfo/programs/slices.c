// Freestanding, so that every instruction can be traced: values through copies, spills, calls, structures and choices.
#define KEPT __attribute__((noinline, noclone))

typedef unsigned long word;

struct pair {
    long first, second;
};

struct plan {
    int mode;
    unsigned char level;
    short width;
    long limit;
    struct pair ends;
};

static volatile long sink;
static struct plan plan = {3, 7, -2, 1000, {5, 9}};
static long table[16];

KEPT long mixed(long a, long b, long c, long d, long e, long f, long g, long h, long i, int j) {
    return a + 2 * b - 3 * c + d * e - f + (g ^ h) + i / (j | 1);
}

KEPT long spilled(long n) {
    long a = n * 3, b = n + 7, c = n ^ 5, d = n * n, e = n - 11, f = n << 2, g = n / 3, h = n % 5;
    long i = mixed(a, b, c, d, e, f, g, h, n, (int)n);
    long j = mixed(h, g, f, e, d, c, b, a, i, 3);
    return a + b + c + d + e + f + g + h + i * j;
}

KEPT long chosen(long a, int b) {
    long best = a > b ? a : b;
    if (best > 100)
        best = 100;
    return best + (b == 3);
}

KEPT int narrowed(unsigned char a, short b, int c) {
    unsigned char low = (unsigned char)(a * 3);
    return low + b * c + (signed char)c;
}

KEPT long members(struct plan *at, int by) {
    at->mode += by;
    at->level ^= (unsigned char)by;
    at->limit = at->mode * 10 + at->width;
    return at->ends.first + at->ends.second * at->limit;
}

KEPT struct pair paired(long a, long b) {
    struct pair made = {a * b, a - b};
    return made;
}

KEPT long filled(long n) {
    long room[8];
    for (int i = 0; i < 8; i++)
        room[i] = n * i;
    sink = room[n & 7];
    long all = 0;
    for (int i = 0; i < 8; i++)
        all += room[i] * table[(i + n) & 15];
    return all;
}

KEPT void set_both(long *a, long *b) {
    *a = 41;
    *b += *a;
}

KEPT long escaping(long n) {
    long a = n, b = n + 1;
    set_both(&a, &b);
    long c = a + b;
    set_both(&b, &a);
    return a * b + c;
}

KEPT long switched(long n) {
    switch (n) {
    case 0: return table[1] + 3;
    case 1: return plan.limit;
    case 2: return chosen(n, 40);
    case 3: return n * 77;
    case 4: n += 9; break;
    case 5: n *= 8; break;
    default: return -n;
    }
    return n + 1;
}

KEPT long counted(const long *from, long n) {
    long best = 0, times = 0;
    for (const long *at = from; at < from + n; at++) {
        if (*at > best) {
            best = *at;
            times = 0;
        } else if (*at == best)
            times++;
    }
    return best * 1000 + times;
}

KEPT long passed_on(long n) {
    table[n & 15] = n;
    return spilled(n + 2);
}

KEPT long deep(long n, long by) {
    return n <= 0 ? by : deep(n - 1, by * 3 + n) + by;
}

KEPT long divided(word a, word b, int c) {
    return (long)(a / (b | 1)) + (long)(a % (b | 1)) + c / 7 + c % 9 + (long)((__uint128_t)a * b >> 64);
}

KEPT void run(void) {
    long total = 0;
    for (int i = 0; i < 16; i++)
        table[i] = (i * 37) % 23;
    for (long i = 0; i < 9; i++) {
        struct pair made = paired(i, total);
        total += made.first ^ made.second;
        total += passed_on(i) + chosen(i * 13, (int)i) + narrowed((unsigned char)i, (short)(i - 4), (int)total);
        total += members(&plan, (int)i) + filled(i) + escaping(i) + switched(i) + counted(table, 16) + deep(4, i);
        total += divided((word)total, (word)i, (int)total);
    }
    sink = total;
}

__attribute__((noreturn)) void _start(void) {
#ifdef __x86_64__
    __asm__ volatile("andq $-16, %%rsp\n\tcall run\n\tmovl $60, %%eax\n\txorl %%edi, %%edi\n\tsyscall" ::: "memory");
#else
    __asm__ volatile("bl run\n\tmov x8, #93\n\tmov x0, #0\n\tsvc #0" ::: "memory");
#endif
    __builtin_unreachable();
}
