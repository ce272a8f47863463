// x86-64: registers by their DWARF numbers, and rows that say where a frame keeps its caller's.
#ifndef WHYPERF_X86_64_REGISTERS_H
#define WHYPERF_X86_64_REGISTERS_H

#include <elf.h>
#include <stdint.h>

enum { UNWIND_ELF_MACHINE = EM_X86_64 };

enum {
    UNWIND_RAX = 0,
    UNWIND_RDX,
    UNWIND_RCX,
    UNWIND_RBX,
    UNWIND_RSI,
    UNWIND_RDI,
    UNWIND_RBP,
    UNWIND_RSP,
    UNWIND_R8,
    UNWIND_R9,
    UNWIND_R10,
    UNWIND_R11,
    UNWIND_R12,
    UNWIND_R13,
    UNWIND_R14,
    UNWIND_R15,
    UNWIND_RIP,
    UNWIND_REGISTERS
};
enum { UNWIND_FP = UNWIND_RBP, UNWIND_SP = UNWIND_RSP, UNWIND_PC = UNWIND_RIP };
enum { UNWIND_RETURN_COLUMN = UNWIND_RIP };

// The registers of saved[], in this order.
enum { UNWIND_SAVED_REGISTERS = 6, UNWIND_COLUMN_RETURN = UNWIND_SAVED_REGISTERS };
static const uint8_t UNWIND_SAVED_REGISTER[UNWIND_SAVED_REGISTERS] = {UNWIND_RBX, UNWIND_RBP, UNWIND_R12,
                                                                      UNWIND_R13, UNWIND_R14, UNWIND_R15};

// The return address always lies at CFA - 8; code for which that is not so has RULE rows. saved[]: the byte offset / 8
// from the CFA, always negative. In DEREF rows it counts from the value of `reg` + 8 instead, in REALIGN rows from
// rbp + 8: there the distance to the CFA is known at run time only.
struct unwind_row {
    uint32_t address; // ELF virtual address from which the row holds
    int32_t offset;
    uint8_t kind;
    uint8_t reg; // DWARF number of the CFA register
    int8_t saved[UNWIND_SAVED_REGISTERS];
};
_Static_assert(sizeof(struct unwind_row) == 16, "rows are 16 bytes");

// The version of rows and layout is in the magic.
#define UNWIND_TABLE_MAGIC 0x31776f7277757077ull // "wpuwrow1"

#endif
