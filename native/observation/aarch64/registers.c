#include "observation/registers.h"

#include <asm/sigcontext.h>

enum { LINK = 30, STACK_POINTER = 31 };

const uint32_t trap_bytes = 4;

uintptr_t trap_address(const ucontext_t *context) {
    return context->uc_mcontext.pc;
}

// The kernel keeps them in one of several parts behind the general registers.
static uint64_t vector_read(const ucontext_t *context, uint32_t number) {
    const struct _aarch64_ctx *part = (const void *)context->uc_mcontext.__reserved;
    while (part->magic && part->magic != FPSIMD_MAGIC)
        part = (const void *)((const char *)part + part->size);
    if (!part->magic || number >= VECTORS)
        return 0;
    return (uint64_t)((const struct fpsimd_context *)part)->vregs[number];
}

uint64_t register_read(const ucontext_t *context, uint32_t number) {
    if (number > STACK_POINTER)
        return vector_read(context, number - VECTOR);
    return number == STACK_POINTER ? context->uc_mcontext.sp : context->uc_mcontext.regs[number];
}

void register_write(ucontext_t *context, uint32_t number, uint64_t value) {
    if (number < STACK_POINTER)
        context->uc_mcontext.regs[number] = value;
}

uint64_t flags_read(const ucontext_t *context) {
    return context->uc_mcontext.pstate;
}

void go_on_at(ucontext_t *context, uintptr_t address) {
    context->uc_mcontext.pc = address;
}

uint64_t return_address(const ucontext_t *context) {
    return context->uc_mcontext.regs[LINK];
}
