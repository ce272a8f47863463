// What debug information and code of a file mean on the machine that the file is for, which need not be this one.
#ifndef WHYPERF_DEBUGINFO_MACHINE_H
#define WHYPERF_DEBUGINFO_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// By which registers a function's code addresses its stack slots, and where these point: so far below the CFA.
struct slot_registers {
    uint8_t number[2];
    int64_t below[2];
    unsigned count;
};

// A stack slot's mention in code that may set it.
struct mention {
    uint64_t at;     // in the code
    int64_t offset;  // of the slot from the CFA
    uint64_t bytes;  // from there on that the instruction may set
    bool is_address; // passed on to somebody who may set them: not before the statement is over
};

struct code_machine {
    uint8_t registers;             // general ones have the DWARF numbers below this
    uint8_t first_vector, vectors; // DWARF's number of the first vector register, and how many there are
    uint32_t kept;                 // a bit for each general register that calls keep
    uint32_t points_to_stack;      // a bit for the stack pointer, and for the frame pointer
    uint8_t call_bytes;            // a direct call's length
    uint8_t alignment;             // of instructions
    uint8_t jump_bytes[2];         // lengths of direct jumps; 0: there is none
    // Where the direct call or jump leads that ends at `address`; `code` are the `size` bytes before that.
    bool (*call_target)(const uint8_t *code, uint64_t size, uint64_t address, uint64_t *target);
    bool (*jump_target)(const uint8_t *code, uint64_t size, uint64_t address, uint64_t *target);
    // Whether a conditional jump in code that begins at `address` leads to `target`.
    bool (*branches_to)(const uint8_t *code, uint64_t size, uint64_t address, uint64_t target);
    // From a function's first code. False where slots are not addressed so.
    bool (*slot_registers)(const uint8_t *code, uint64_t size, struct slot_registers *found);
    // The mention at code[at], if there is one.
    bool (*mention)(const uint8_t *code, uint64_t size, uint64_t at, const struct slot_registers *registers,
                    struct mention *found);
};

// Files for a machine that is not known are read as if they were for x86-64.
const struct code_machine *code_machine(unsigned elf_machine);

extern const struct code_machine x86_64_code, aarch64_code;

#endif
