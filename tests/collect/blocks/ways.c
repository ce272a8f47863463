// Compares way_of() with what the processor does: each condition after many comparisons.
#define _GNU_SOURCE
#include "blocks/ways.h"

#include <stdio.h>
#include <string.h>

static int wrong, tried;

static void compare(const char *name, const uint8_t *code, uint8_t size, const ucontext_t *context, bool taken) {
    struct plan_patch patch = {.size = size};
    struct way way = {0};
    memcpy(patch.old, code, size);
    tried++;
    bool known = way_of(&patch, 0x1000, context, &way);
    uintptr_t next = 0x1000 + (taken ? 64 : size);
    if (!known || way.is_taken != taken || way.next != next) {
        printf("%s: known %d, taken %d, is %d, next %#lx\n", name, known, way.is_taken, taken, (unsigned long)way.next);
        wrong++;
    }
}

#if defined(__x86_64__)
#define JUMPS                                                                                                          \
    X(0, "jo")                                                                                                         \
    X(1, "jno")                                                                                                        \
    X(2, "jb")                                                                                                         \
    X(3, "jae") X(4, "je") X(5, "jne") X(6, "jbe") X(7, "ja") X(8, "js") X(9, "jns") X(10, "jp") X(11, "jnp")          \
        X(12, "jl") X(13, "jge") X(14, "jle") X(15, "jg")
static void try(long a, long b) {
    ucontext_t context = {0};
    unsigned long flags;
    __asm__ volatile("cmp %2, %1\n\tpushf\n\tpop %0" : "=r"(flags) : "r"(a), "r"(b) : "cc");
    context.uc_mcontext.gregs[REG_EFL] = (greg_t)flags;
#define X(number, jump)                                                                                                \
    {                                                                                                                  \
        int taken = 1;                                                                                                 \
        __asm__ volatile("cmp %2, %1\n\t" jump " 1f\n\txor %0, %0\n1:" : "+r"(taken) : "r"(a), "r"(b) : "cc");         \
        compare(jump, (const uint8_t[]){0x70 | number, 62}, 2, &context, taken);                                       \
        compare(jump, (const uint8_t[]){0x0f, 0x80 | number, 58, 0, 0, 0}, 6, &context, taken);                        \
    }
    JUMPS
#undef X
}
#else
#define FLAGS(X)                                                                                                       \
    X(0, "eq")                                                                                                         \
    X(1, "ne")                                                                                                         \
    X(2, "cs")                                                                                                         \
    X(3, "cc") X(4, "mi") X(5, "pl") X(6, "vs") X(7, "vc") X(8, "hi") X(9, "ls") X(10, "ge") X(11, "lt") X(12, "gt")   \
        X(13, "le") X(14, "al") X(15, "nv")
#define REGISTER(X)                                                                                                    \
    X(0xb4000000, "cbz %1,")                                                                                           \
    X(0xb5000000, "cbnz %1,")                                                                                          \
    X(0x34000000, "cbz %w1,")                                                                                          \
    X(0x35000000, "cbnz %w1,")                                                                                         \
    X(0x36000000, "tbz %w1, 0,")                                                                                       \
    X(0x37000000, "tbnz %w1, 0,")                                                                                      \
    X(0x36f80000, "tbz %w1, 31,") X(0xb7000000, "tbnz %1, 32,") X(0xb6f80000, "tbz %1, 63,")
static void try(long a, long b) {
    ucontext_t context = {0};
    unsigned long flags;
    __asm__ volatile("cmp %1, %2\n\tmrs %0, nzcv" : "=r"(flags) : "r"(a), "r"(b) : "cc");
    context.uc_mcontext.pstate = flags;
    context.uc_mcontext.regs[9] = (unsigned long)a;
#define X(number, name)                                                                                                \
    {                                                                                                                  \
        int taken = 1;                                                                                                 \
        __asm__ volatile("cmp %1, %2\n\tb." name " 1f\n\tmov %w0, 0\n1:" : "+r"(taken) : "r"(a), "r"(b) : "cc");       \
        uint32_t word = 0x54000000u | 16 << 5 | number;                                                                \
        compare(name, (const uint8_t *)&word, 4, &context, taken);                                                     \
    }
    FLAGS(X)
#undef X
#define X(bits, name)                                                                                                  \
    {                                                                                                                  \
        int taken = 1;                                                                                                 \
        __asm__ volatile(name " 1f\n\tmov %w0, 0\n1:" : "+r"(taken) : "r"(a));                                         \
        uint32_t word = bits | 16 << 5 | 9;                                                                            \
        compare(name, (const uint8_t *)&word, 4, &context, taken);                                                     \
    }
    REGISTER(X)
#undef X
}
#endif

int main(void) {
    static const long values[] = {0,           1,         2, 3, -1, -2, 0x7fffffffffffffff, -0x7fffffffffffffff - 1,
                                  0x100000000, 0x80000000};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (size_t j = 0; j < sizeof values / sizeof *values; j++)
            try(values[i], values[j]);
    printf("%d tried\n", tried);
    return wrong != 0;
}
