// SPDX-License-Identifier: GPL-2.0-or-later
// What differs between the machines whose programs the tool carries.
#ifndef WHYPERF_DEPENDENCES_GUEST_H
#define WHYPERF_DEPENDENCES_GUEST_H

#include "valgrind.h"

#if defined(VGA_amd64)

#include "libvex_guest_amd64.h"
#define GUEST(field) ((Int)offsetof(VexGuestAMD64State, guest_##field))
#define GUEST_STACK_POINTER GUEST(RSP)
#define GUEST_PROGRAM_COUNTER GUEST(RIP)
#define GUEST_ARGUMENT_0 GUEST(RDI)
#define GUEST_ARGUMENT_1 GUEST(RSI)
#define GUEST_ARGUMENT_2 GUEST(RDX)
#define GUEST_RESULT GUEST(RAX)
#define GUEST_ARCHITECTURE VexArchAMD64
#define GUEST_LIFTER disInstr_AMD64
// Helpers that compute flags out of their thunk: amd64g_calculate_condition, _c, _rflags_all, _rflags_c.
#define GUEST_FLAGS_HELPERS "amd64g_calculate_c", "amd64g_calculate_rf"
enum {
    GENERAL_REGISTERS = 16,
    // Valgrind has a seventeenth vector register for its own use within an instruction.
    VECTOR_REGISTERS = 17,
    // A call pushes the return address: at a function's entry it lies at the stack pointer.
    LINK_BYTES = 0,
};

#elif defined(VGA_arm64)

#include "libvex_guest_arm64.h"
#define GUEST(field) ((Int)offsetof(VexGuestARM64State, guest_##field))
#define GUEST_STACK_POINTER GUEST(XSP)
#define GUEST_PROGRAM_COUNTER GUEST(PC)
#define GUEST_LINK GUEST(X30)
#define GUEST_ARGUMENT_0 GUEST(X0)
#define GUEST_ARGUMENT_1 GUEST(X1)
#define GUEST_ARGUMENT_2 GUEST(X2)
#define GUEST_RESULT GUEST(X0)
#define GUEST_ARCHITECTURE VexArchARM64
#define GUEST_LIFTER disInstr_ARM64
#define GUEST_FLAGS_HELPERS "arm64g_calculate_"
enum {
    GENERAL_REGISTERS = 31,
    VECTOR_REGISTERS = 32,
    // The return address stays in a register, and the stack pointer at a function's entry is the caller's own. An
    // activation counts as if it had been pushed, so that it lies below what its caller has.
    LINK_BYTES = 8,
};

#else
#error "the tool knows no other machine"
#endif

#endif
