// x86-64, as seen from inside the watched program.
#ifndef WHYPERF_MACHINE_X86_64_H
#define WHYPERF_MACHINE_X86_64_H

#include <linux/audit.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <x86intrin.h>

#include "unwind/unwind.h"

#define MACHINE_LOADER "ld-linux-x86-64"
enum { MACHINE_AUDIT_ARCH = AUDIT_ARCH_X86_64 };
// Functions that call nothing keep variables in so many bytes below the stack pointer.
enum { MACHINE_RED_ZONE_BYTES = 128 };
// Beyond the lower half no address is a program's.
static const uint64_t MACHINE_HIGHEST_ADDRESS = (1ull << 47) - 4096;

static inline uint64_t machine_stack_pointer(const ucontext_t *context) {
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

static inline void machine_take_registers(const ucontext_t *context, struct unwind_registers *registers) {
    static const uint8_t order[UNWIND_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    registers->known = unwind_bit(UNWIND_REGISTERS) - 1;
    for (int i = 0; i < UNWIND_REGISTERS; i++)
        registers->value[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

// Those that calls preserve, as they are here.
static inline __attribute__((always_inline)) void machine_registers_here(struct unwind_registers *registers) {
    uint64_t *value = registers->value, pc;
    __asm__ volatile("mov %%rbx, 24(%1)\n\t"
                     "mov %%rbp, 48(%1)\n\t"
                     "mov %%rsp, 56(%1)\n\t"
                     "mov %%r12, 96(%1)\n\t"
                     "mov %%r13, 104(%1)\n\t"
                     "mov %%r14, 112(%1)\n\t"
                     "mov %%r15, 120(%1)\n\t"
                     "lea 0(%%rip), %0"
                     : "=&r"(pc)
                     : "r"(value)
                     : "memory");
    registers->value[UNWIND_PC] = pc;
    registers->known = unwind_bit(UNWIND_RBX) | unwind_bit(UNWIND_RBP) | unwind_bit(UNWIND_RSP) |
                       unwind_bit(UNWIND_R12) | unwind_bit(UNWIND_R13) | unwind_bit(UNWIND_R14) |
                       unwind_bit(UNWIND_R15) | unwind_bit(UNWIND_PC);
}

// The vector registers, 16 bytes each; NULL where the kernel has not kept them.
static inline const unsigned char *machine_vectors(const ucontext_t *context) {
    const struct _libc_fpstate *state = context->uc_mcontext.fpregs;
    return state ? (const unsigned char *)state->_xmm : NULL;
}

static inline uint64_t machine_thread_pointer(void) {
    uint64_t pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

// From the thread pointer to the program's own thread-local block, which lies right below it.
static inline int64_t machine_program_block(uint64_t bytes, uint64_t alignment) {
    return -(int64_t)((bytes + alignment - 1) / alignment * alignment);
}

static inline uint64_t machine_ticks(void) {
    return __rdtsc();
}

// A system call by nobody's code but this: negative numbers are errors.
static inline long machine_system_call3(long number, long first, long second, long third) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

static inline void machine_copy_bytes(void *to, const void *from, size_t size) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

#endif
