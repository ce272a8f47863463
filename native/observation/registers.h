// Registers of a thread that was stopped by a trap: native/observation/MACHINE/registers.c. General ones have DWARF's
// numbers, vector registers those from VECTOR on.
#ifndef WHYPERF_OBSERVATION_REGISTERS_H
#define WHYPERF_OBSERVATION_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

enum { REGISTERS = 32, VECTOR = 32, VECTORS = 32 };

// Where the trap is that stopped it.
uintptr_t trap_address(const ucontext_t *context);
// Bytes of that instruction.
extern const uint32_t trap_bytes;

// Of a vector register its lowest 8 bytes; 0 where there is no such register.
uint64_t register_read(const ucontext_t *context, uint32_t number);
void register_write(ucontext_t *context, uint32_t number, uint64_t value);
uint64_t flags_read(const ucontext_t *context);
void go_on_at(ucontext_t *context, uintptr_t address);
// At the first instruction of a function.
uint64_t return_address(const ucontext_t *context);

#endif
