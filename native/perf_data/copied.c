#include "perf_data/copied.h"
#include "stacks/walk.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

bool copied_spaces_add(struct copied_spaces *spaces, struct unwind_modules *space) {
    if (spaces->count == spaces->capacity) {
        size_t capacity = 2 * spaces->capacity + 64;
        struct unwind_modules **larger = realloc(spaces->spaces, capacity * sizeof *larger);
        if (!larger)
            return false;
        spaces->spaces = larger;
        spaces->capacity = capacity;
    }
    spaces->spaces[spaces->count++] = space;
    return true;
}

void copied_spaces_release(struct copied_spaces *spaces) {
    for (size_t i = 0; i < spaces->count; i++)
        free(spaces->spaces[i]);
    free(spaces->spaces);
}

#ifdef __aarch64__
// DWARF's registers by the bits of the mask (arch/arm64/include/uapi/asm/perf_regs.h): the same order.
static const int8_t dwarf_register[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,       16,
                                        17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, UNWIND_PC};
#else
// DWARF's registers by the bits of the mask (arch/x86/include/uapi/asm/perf_regs.h); -1: flags and segments.
static const int8_t dwarf_register[] = {
    UNWIND_RAX, UNWIND_RBX, UNWIND_RCX, UNWIND_RDX, UNWIND_RSI, UNWIND_RDI, UNWIND_RBP, UNWIND_RSP,
    UNWIND_RIP, -1,         -1,         -1,         -1,         -1,         -1,         -1,
    UNWIND_R8,  UNWIND_R9,  UNWIND_R10, UNWIND_R11, UNWIND_R12, UNWIND_R13, UNWIND_R14, UNWIND_R15,
};
#endif

static void load_registers(const uint8_t *words, uint64_t mask, struct unwind_registers *registers) {
    *registers = (struct unwind_registers){0};
    for (unsigned bit = 0; bit < sizeof dwarf_register; bit++) {
        if (!(mask >> bit & 1))
            continue;
        int number = dwarf_register[bit];
        if (number >= 0) {
            memcpy(&registers->value[number], words, sizeof(uint64_t));
            registers->known |= unwind_bit((unsigned)number);
        }
        words += sizeof(uint64_t);
    }
}

struct copied_memory {
    const uint8_t *bytes;
    uint64_t address, size;
};

// An unwind_read_fn.
static bool read_copied(void *context, uint64_t address, uint64_t *word) {
    const struct copied_memory *memory = context;
    uint64_t distance = address - memory->address;
    if (distance >= memory->size || memory->size - distance < sizeof *word)
        return false;
    memcpy(word, memory->bytes + distance, sizeof *word);
    return true;
}

bool unwind_copied(const uint8_t *data, uint64_t user_registers, const struct unwind_modules *space,
                   struct perf_stacks *stacks, struct perf_sample *sample) {
    const uint64_t needed = unwind_bit(UNWIND_PC) | unwind_bit(UNWIND_SP);
    struct unwind_registers registers;
    struct walk walk;
    if (sample->registers == 0 || sample->abi != PERF_SAMPLE_REGS_ABI_64)
        return true;
    load_registers(data + sample->registers, user_registers, &registers);
    if ((registers.known & needed) != needed)
        return true;
    struct copied_memory memory = {data + sample->memory, registers.value[UNWIND_SP], sample->memory_size};
    struct stack_access access = {read_copied, NULL, &memory};
    walk_registers(space, &registers, &access, &walk);
    sample->cut = (uint8_t)walk.cut;
    return perf_stacks_add(stacks, walk.pcs, walk.depth, &sample->user_stack);
}
