// Compares way_of() with what the processor does: each condition after many comparisons.
#include "blocks/ways.h"

#include <stdio.h>
#include <string.h>

static int wrong, tried;

static void compare(const char *name, const void *code, uint8_t size, const ucontext_t *context, bool taken) {
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
#define TRY(number, jump)                                                                                              \
    do {                                                                                                               \
        int taken = 1;                                                                                                 \
        __asm__ volatile("cmp %2, %1\n\t" jump " 1f\n\txor %0, %0\n1:" : "+r"(taken) : "r"(a), "r"(b) : "cc");         \
        compare(jump, (const uint8_t[]){0x70 | number, 62}, 2, &context, taken);                                       \
        compare(jump, (const uint8_t[]){0x0f, 0x80 | number, 58, 0, 0, 0}, 6, &context, taken);                        \
    } while (0)

static void try_all(long a, long b) {
    ucontext_t context = {0};
    unsigned long flags;
    __asm__ volatile("cmp %2, %1\n\tpushf\n\tpop %0" : "=r"(flags) : "r"(a), "r"(b) : "cc");
    context.uc_mcontext.gregs[REG_EFL] = (greg_t)flags;
    TRY(0, "jo");
    TRY(1, "jno");
    TRY(2, "jb");
    TRY(3, "jae");
    TRY(4, "je");
    TRY(5, "jne");
    TRY(6, "jbe");
    TRY(7, "ja");
    TRY(8, "js");
    TRY(9, "jns");
    TRY(10, "jp");
    TRY(11, "jnp");
    TRY(12, "jl");
    TRY(13, "jge");
    TRY(14, "jle");
    TRY(15, "jg");
}
#else
#define TRY(bits, jump)                                                                                                \
    do {                                                                                                               \
        int taken = 1;                                                                                                 \
        __asm__ volatile("cmp %1, %2\n\t" jump " 1f\n\tmov %w0, 0\n1:" : "+r"(taken) : "r"(a), "r"(b) : "cc");         \
        uint32_t word = (bits) | 16 << 5;                                                                              \
        compare(jump, &word, sizeof word, &context, taken);                                                            \
    } while (0)

enum { FLAGS = 0x54000000, REGISTER = 9 };

static void try_all(long a, long b) {
    ucontext_t context = {0};
    unsigned long flags;
    __asm__ volatile("cmp %1, %2\n\tmrs %0, nzcv" : "=r"(flags) : "r"(a), "r"(b) : "cc");
    context.uc_mcontext.pstate = flags;
    context.uc_mcontext.regs[REGISTER] = (unsigned long)a;
    TRY(FLAGS | 0, "b.eq");
    TRY(FLAGS | 1, "b.ne");
    TRY(FLAGS | 2, "b.cs");
    TRY(FLAGS | 3, "b.cc");
    TRY(FLAGS | 4, "b.mi");
    TRY(FLAGS | 5, "b.pl");
    TRY(FLAGS | 6, "b.vs");
    TRY(FLAGS | 7, "b.vc");
    TRY(FLAGS | 8, "b.hi");
    TRY(FLAGS | 9, "b.ls");
    TRY(FLAGS | 10, "b.ge");
    TRY(FLAGS | 11, "b.lt");
    TRY(FLAGS | 12, "b.gt");
    TRY(FLAGS | 13, "b.le");
    TRY(FLAGS | 14, "b.al");
    TRY(FLAGS | 15, "b.nv");
    TRY(0xb4000000 | REGISTER, "cbz %1,");
    TRY(0xb5000000 | REGISTER, "cbnz %1,");
    TRY(0x34000000 | REGISTER, "cbz %w1,");
    TRY(0x35000000 | REGISTER, "cbnz %w1,");
    TRY(0x36000000 | REGISTER, "tbz %w1, 0,");
    TRY(0x37000000 | REGISTER, "tbnz %w1, 0,");
    TRY(0x36f80000 | REGISTER, "tbz %w1, 31,");
    TRY(0xb7000000 | REGISTER, "tbnz %1, 32,");
    TRY(0xb6f80000 | REGISTER, "tbz %1, 63,");
}
#endif

int main(void) {
    static const long values[] = {0, 1, 2, 3, -1, -2, INT64_MAX, INT64_MIN, 1l << 32, 1l << 31};
    enum { VALUES = sizeof values / sizeof *values };
    for (int i = 0; i < VALUES; i++)
        for (int j = 0; j < VALUES; j++)
            try_all(values[i], values[j]);
    printf("%d tried\n", tried);
    return wrong != 0;
}
