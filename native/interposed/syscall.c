#include "interposed/syscall.h"

#include <errno.h>
#include <sys/syscall.h>

__attribute__((used)) long whyperf_syscall_failed(long error) {
    errno = (int)-error;
    return -1;
}

// It must not have a frame of its own: a child made by syscall(SYS_clone) returns through it as well.
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    .cfi_startproc\n"
        "    cmpq $317, %rdi\n"
        "    je 1f\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    movq %r8, %r10\n"
        "    movq %r9, %r8\n"
        "    movq 8(%rsp), %r9\n"
        "    syscall\n"
        "    cmpq $-4095, %rax\n"
        "    jae 2f\n"
        "    ret\n"
        "1:  movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    jmp whyperf_seccomp\n"
        "2:  movq %rax, %rdi\n"
        "    jmp whyperf_syscall_failed\n"
        "    .cfi_endproc\n"
        ".size syscall, .-syscall\n");
_Static_assert(SYS_seccomp == 317, "the number in the code above");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, %function\n"
        "syscall:\n"
        "    .cfi_startproc\n"
        "    cmp x0, #277\n"
        "    b.eq 1f\n"
        "    mov x8, x0\n"
        "    mov x0, x1\n"
        "    mov x1, x2\n"
        "    mov x2, x3\n"
        "    mov x3, x4\n"
        "    mov x4, x5\n"
        "    mov x5, x6\n"
        "    svc #0\n"
        "    cmn x0, #4095\n"
        "    b.cs 2f\n"
        "    ret\n"
        "1:  mov x0, x1\n"
        "    mov x1, x2\n"
        "    mov x2, x3\n"
        "    b whyperf_seccomp\n"
        "2:  b whyperf_syscall_failed\n"
        "    .cfi_endproc\n"
        ".size syscall, .-syscall\n");
_Static_assert(SYS_seccomp == 277, "the number in the code above");
#endif
