// Writes numbers to a file as functions hand them on, with flags that the code around them sets and needs.
#include <stdint.h>
#include <stdio.h>

#ifdef __aarch64__
#define ROOM __asm__ volatile("nop")
#else
#define ROOM __asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00") // for a jump
#endif

__attribute__((noinline)) uint64_t wide(uint64_t x) {
    ROOM;
    return x;
}
__attribute__((noinline)) uint32_t narrow(uint32_t x) {
    ROOM;
    return x;
}
__attribute__((noinline)) double real(double x) {
    ROOM;
    return x;
}
__attribute__((noinline)) float small(float x) {
    ROOM;
    return x;
}

// Whether a carry set before the call's first instruction is still there behind it, and other registers as well.
static uint64_t kept(uint64_t (*function)(uint64_t), uint64_t x) {
    uint64_t carried;
#ifdef __aarch64__
    register uint64_t argument __asm__("x0") = x;
    __asm__ volatile("mov x16, #77\n mov x17, #78\n cmp xzr, xzr\n blr %[function]\n"
                     "cset %[carried], cs\n cmp x17, #78\n csel %[carried], %[carried], xzr, eq\n"
                     "cmp x16, #77\n csel %[carried], %[carried], xzr, eq\n"
                     : [carried] "=&r"(carried), "+r"(argument)
                     : [function] "r"(function)
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x16", "x17", "x30", "cc", "memory");
#else
    __asm__ volatile("sub $256, %%rsp\n mov $77, %%ecx\n mov $78, %%edx\n stc\n call *%[function]\n"
                     "setc %%al\n movzbl %%al, %%eax\n add $256, %%rsp\n"
                     "cmp $77, %%rcx\n jne 1f\n cmp $78, %%rdx\n je 2f\n 1: xor %%eax, %%eax\n 2:\n"
                     : "=a"(carried)
                     : [function] "r"(function), "D"(x)
                     : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
#endif
    return carried;
}

int main(int count, char **words) {
    if (count != 2 || !freopen(words[1], "w", stdout))
        return 2;
    for (uint64_t i = 0; i < 64; i++) {
        uint64_t x = i * i << (i & 31);
        printf("%llu %u %.17g %.9g\n", (unsigned long long)wide(x), narrow((uint32_t)x), real((double)i / 3),
               (double)small((float)i / 3));
    }
    printf("%d\n", (int)kept(wide, 5));
    return 0;
}
