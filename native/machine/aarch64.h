// 64-bit ARM, as seen from inside the watched program.
#ifndef WHYPERF_MACHINE_AARCH64_H
#define WHYPERF_MACHINE_AARCH64_H

#include <asm/sigcontext.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "unwind/unwind.h"

#define MACHINE_LOADER "ld-linux-aarch64"
enum { MACHINE_AUDIT_ARCH = AUDIT_ARCH_AARCH64 };
// What lies below the stack pointer is nobody's.
enum { MACHINE_RED_ZONE_BYTES = 0 };
// Beyond these no address is a program's, unless it asks for them.
static const uint64_t MACHINE_HIGHEST_ADDRESS = (1ull << 48) - 4096;

static inline uint64_t machine_stack_pointer(const ucontext_t *context) {
    return context->uc_mcontext.sp;
}

static inline void machine_take_registers(const ucontext_t *context, struct unwind_registers *registers) {
    registers->known = unwind_bit(UNWIND_REGISTERS) - 1;
    for (int i = 0; i < UNWIND_SP; i++)
        registers->value[i] = context->uc_mcontext.regs[i];
    registers->value[UNWIND_SP] = context->uc_mcontext.sp;
    registers->value[UNWIND_PC] = context->uc_mcontext.pc;
}

// Those that calls preserve, as they are here.
static inline __attribute__((always_inline)) void machine_registers_here(struct unwind_registers *registers) {
    enum { FIRST_PRESERVED = 19 };
    uint64_t *first = &registers->value[FIRST_PRESERVED], stack_pointer, pc;
    __asm__ volatile("stp x19, x20, [%2]\n\t"
                     "stp x21, x22, [%2, #16]\n\t"
                     "stp x23, x24, [%2, #32]\n\t"
                     "stp x25, x26, [%2, #48]\n\t"
                     "stp x27, x28, [%2, #64]\n\t"
                     "stp x29, x30, [%2, #80]\n\t"
                     "mov %0, sp\n\t"
                     "adr %1, ."
                     : "=&r"(stack_pointer), "=&r"(pc)
                     : "r"(first)
                     : "memory");
    registers->value[UNWIND_SP] = stack_pointer;
    registers->value[UNWIND_PC] = pc;
    registers->known = (unwind_bit(UNWIND_REGISTERS) - 1) & ~(unwind_bit(FIRST_PRESERVED) - 1);
}

// The vector registers, 16 bytes each; NULL where the kernel has not kept them. They are one of the records that follow
// the registers, the last of which has no size.
static inline const unsigned char *machine_vectors(const ucontext_t *context) {
    const unsigned char *records = context->uc_mcontext.__reserved;
    const size_t size = sizeof context->uc_mcontext.__reserved;
    for (size_t at = 0; at + sizeof(struct fpsimd_context) <= size;) {
        const struct _aarch64_ctx *head = (const void *)(records + at);
        if (head->magic == FPSIMD_MAGIC)
            return (const unsigned char *)((const struct fpsimd_context *)head)->vregs;
        if (!head->size)
            break;
        at += head->size;
    }
    return NULL;
}

static inline uint64_t machine_thread_pointer(void) {
    return (uint64_t)__builtin_thread_pointer();
}

// From the thread pointer to the program's own thread-local block: behind the two words that are the thread library's.
static inline int64_t machine_program_block(uint64_t bytes, uint64_t alignment) {
    enum { RESERVED_BYTES = 16 };
    (void)bytes;
    return (int64_t)((RESERVED_BYTES + alignment - 1) / alignment * alignment);
}

static inline uint64_t machine_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

// A system call by nobody's code but this: negative numbers are errors.
static inline long machine_system_call3(long number, long first, long second, long third) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

static inline void machine_copy_bytes(void *to, const void *from, size_t size) {
    char *out = to;
    const char *in = from;
    for (size_t at = 0; at < size; at++) {
        out[at] = in[at];
        __asm__ volatile("" : : : "memory"); // or else the compiler makes a call of it
    }
}

#endif
