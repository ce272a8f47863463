// 64-bit ARM: registers by their DWARF numbers, and rows that say where a frame keeps its caller's.
#ifndef WHYPERF_AARCH64_REGISTERS_H
#define WHYPERF_AARCH64_REGISTERS_H

#include <elf.h>
#include <stdint.h>

enum { UNWIND_ELF_MACHINE = EM_AARCH64 };

// x0 to x30 are 0 to 30. The program counter has no DWARF number: ours is the one after the stack pointer's.
enum { UNWIND_FP = 29, UNWIND_LR = 30, UNWIND_SP = 31, UNWIND_PC = 32, UNWIND_REGISTERS };
enum { UNWIND_RETURN_COLUMN = UNWIND_LR };

// The registers of saved[], in this order: x19 to x30, the last of which is the return address.
enum { UNWIND_SAVED_REGISTERS = 12, UNWIND_COLUMN_RETURN = 11 };
static const uint8_t UNWIND_SAVED_REGISTER[UNWIND_SAVED_REGISTERS] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};

// saved[]: the register lies at CFA + 8 * (saved_base + saved[]). Registers lie together at the bottom of a frame,
// which may be far from the CFA. Where that of x30 is SAME, the return address is in x30 itself.
struct unwind_row {
    uint32_t address; // ELF virtual address from which the row holds
    int32_t offset;
    uint8_t kind;
    uint8_t reg; // DWARF number of the CFA register
    int16_t saved_base;
    int8_t saved[UNWIND_SAVED_REGISTERS];
};
_Static_assert(sizeof(struct unwind_row) == 24, "rows are 24 bytes");

// The version of rows and layout is in the magic.
#define UNWIND_TABLE_MAGIC 0x31776f7261757077ull // "wpuarow1"

// Return addresses may be signed, in bits that no address of a program has.
static inline uint64_t unwind_unsigned(uint64_t return_address) {
    return return_address & ((1ull << 48) - 1);
}

#endif
