// Calls functions that change next to no register, as compilers know of functions of the same file, and looks at every
// other register that a call may change. Prints how many were lost.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CALLS = 2000, WORDS = 128, GENERAL_FROM = 48 };
extern char pool[];
static uint64_t before[WORDS], after[WORDS];

#ifdef __aarch64__
__asm__(".text\n.balign 4\n"
        ".type zmalloc, %function\nzmalloc:\n.cfi_startproc\n"
        "adrp x16, pool\nadd x0, x16, :lo12:pool\nret\n.cfi_endproc\n.size zmalloc, . - zmalloc\n"
        ".type zfree, %function\nzfree:\n.cfi_startproc\n"
        "adrp x16, pool\nret\n.cfi_endproc\n.size zfree, . - zfree\n"
        ".type timed, %function\ntimed:\n.cfi_startproc\n"
        "adrp x16, pool\nnop\nret\n.cfi_endproc\n.size timed, . - timed\n"
        ".bss\n.balign 4096\n.globl pool\npool: .skip 65536\n.text\n");
#define GENERAL(verb)                                                                                                  \
    #verb " x1, x2, [x19, #384]\n" #verb " x3, x4, [x19, #400]\n" #verb " x5, x6, [x19, #416]\n" #verb                 \
          " x7, x8, [x19, #432]\n" #verb " x9, x10, [x19, #448]\n" #verb " x11, x12, [x19, #464]\n" #verb              \
          " x13, x14, [x19, #480]\n"
#define VECTOR(verb)                                                                                                   \
    #verb " q0, q1, [x19]\n" #verb " q2, q3, [x19, #32]\n" #verb " q4, q5, [x19, #64]\n" #verb                         \
          " q6, q7, [x19, #96]\n" #verb " q16, q17, [x19, #128]\n" #verb " q18, q19, [x19, #160]\n" #verb              \
          " q20, q21, [x19, #192]\n" #verb " q22, q23, [x19, #224]\n" #verb " q24, q25, [x19, #256]\n" #verb           \
          " q26, q27, [x19, #288]\n" #verb " q28, q29, [x19, #320]\n" #verb " q30, q31, [x19, #352]\n"
#define CALL(function)                                                                                                 \
    __asm__ volatile("mov x19, %0\nmov x20, %1\n" GENERAL(ldp) VECTOR(ldp) "mov x0, %2\nbl " function                  \
                                                                           "\nmov x19, x20\n" GENERAL(stp) VECTOR(stp) \
                     :                                                                                                 \
                     : "r"(before), "r"(after), "r"((uintptr_t)argument)                                               \
                     : "memory", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",      \
                       "x13", "x14", "x16", "x17", "x19", "x20", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6",      \
                       "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",       \
                       "v28", "v29", "v30", "v31")
enum { VECTOR_WORDS = 48, GENERAL_WORDS = 14 };
#else
__asm__(".text\n.balign 16\n"
        ".type zmalloc, @function\nzmalloc:\n.cfi_startproc\n"
        "lea pool(%rip), %rax\nret\n.cfi_endproc\n.size zmalloc, . - zmalloc\n"
        ".type zfree, @function\nzfree:\n.cfi_startproc\n"
        "lea pool(%rip), %rax\nret\n.cfi_endproc\n.size zfree, . - zfree\n"
        ".type timed, @function\ntimed:\n.cfi_startproc\n"
        "lea pool(%rip), %rax\nret\n.cfi_endproc\n.size timed, . - timed\n.balign 16\n"
        ".bss\n.balign 4096\n.globl pool\npool: .skip 65536\n.text\n");
#define LOAD(at, name) "movdqu " #at "(%%rbx), %%" #name "\n"
#define STORE(at, name) "movdqu %%" #name ", " #at "(%%rbx)\n"
#define VECTOR(verb)                                                                                                   \
    verb(0, xmm0) verb(16, xmm1) verb(32, xmm2) verb(48, xmm3) verb(64, xmm4) verb(80, xmm5) verb(96, xmm6)            \
        verb(112, xmm7) verb(128, xmm8) verb(144, xmm9) verb(160, xmm10) verb(176, xmm11) verb(192, xmm12)             \
            verb(208, xmm13) verb(224, xmm14) verb(240, xmm15)
#define PUT(at, name) "mov " #at "(%%rbx), %%" #name "\n"
#define GET(at, name) "mov %%" #name ", " #at "(%%rbx)\n"
#define GENERAL(verb)                                                                                                  \
    verb(384, rcx) verb(392, rdx) verb(400, rsi) verb(408, r8) verb(416, r9) verb(424, r10) verb(432, r11)
#define CALL(function)                                                                                                 \
    __asm__ volatile("mov %0, %%rbx\nmov %1, %%r12\nmov %2, %%rdi\n" GENERAL(PUT)                                      \
                         VECTOR(LOAD) "call " function "\nmov %%r12, %%rbx\n" GENERAL(GET) VECTOR(STORE)               \
                     :                                                                                                 \
                     : "r"(before), "r"(after), "r"((uintptr_t)argument)                                               \
                     : "memory", "cc", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",      \
                       "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",        \
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")
enum { VECTOR_WORDS = 32, GENERAL_WORDS = 7 };
#endif

static int differing(void) {
    int lost = 0;
    for (int i = 0; i < VECTOR_WORDS; i++)
        lost += after[i] != before[i];
    for (int i = GENERAL_FROM; i < GENERAL_FROM + GENERAL_WORDS; i++)
        lost += after[i] != before[i];
    memset(after, 0, sizeof after);
    return lost;
}

int main(void) {
    int lost = 0;
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < WORDS; i++)
            before[i] = (uint64_t)call * 0x9e3779b97f4a7c15u + (uint64_t)i + 1;
        uintptr_t argument = 4096;
        CALL("zmalloc");
        lost += differing();
        argument = (uintptr_t)pool;
        CALL("zfree");
        lost += differing();
        CALL("timed");
        lost += differing();
    }
    printf("%d registers lost\n", lost);
    return 0;
}
