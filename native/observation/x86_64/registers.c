#include "observation/registers.h"

#include <string.h>

#include "observation/peek.h"

enum { GENERAL = 16, STACK_POINTER = 7 };

static const int in_context[GENERAL] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

const uint32_t trap_bytes = 1;

uintptr_t trap_address(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP] - trap_bytes;
}

static uint64_t vector_read(const ucontext_t *context, uint32_t number) {
    const struct _libc_fpstate *kept = context->uc_mcontext.fpregs;
    if (!kept || number >= sizeof kept->_xmm / sizeof *kept->_xmm)
        return 0;
    uint64_t value;
    memcpy(&value, &kept->_xmm[number], sizeof value);
    return value;
}

uint64_t register_read(const ucontext_t *context, uint32_t number) {
    if (number >= VECTOR)
        return vector_read(context, number - VECTOR);
    return number < GENERAL ? (uint64_t)context->uc_mcontext.gregs[in_context[number]] : 0;
}

void register_write(ucontext_t *context, uint32_t number, uint64_t value) {
    if (number < GENERAL && number != STACK_POINTER)
        context->uc_mcontext.gregs[in_context[number]] = (greg_t)value;
}

uint64_t flags_read(const ucontext_t *context) {
    return (uint64_t)context->uc_mcontext.gregs[REG_EFL];
}

void go_on_at(ucontext_t *context, uintptr_t address) {
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)address;
}

uint64_t return_address(const ucontext_t *context) {
    uint64_t address = 0;
    peek(register_read(context, STACK_POINTER), &address, sizeof address);
    return address;
}
