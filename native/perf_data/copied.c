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

#ifdef __aarch64__
// The row of an innermost frame's address; NULL if there is none.
static const struct unwind_row *find_row(const struct unwind_modules *space, uint64_t pc) {
    const struct unwind_module *module = unwind_find_module(space, pc);
    uint64_t address = module ? pc - module->bias : UINT64_MAX;
    return address <= UINT32_MAX ? unwind_find_row(&module->table, (uint32_t)address) : NULL;
}

// A chain of frame pointers lacks the caller of a function that has no frame yet, or never has one. It is in x30, which
// perf keeps beside such chains.
static bool add_leaf_caller(const struct unwind_registers *registers, const struct unwind_modules *space,
                            struct perf_stacks *stacks, struct perf_sample *sample) {
    enum { LONGEST = 1 << 13 };
    uint64_t pcs[LONGEST + 1], caller = unwind_unsigned(registers->value[UNWIND_LR]);
    uint32_t number = sample->user_stack;
    if (number == 0 || number > stacks->count || !(registers->known & unwind_bit(UNWIND_LR)))
        return true;
    int64_t first = number > 1 ? stacks->ends[number - 2] : 0, count = stacks->ends[number - 1] - first;
    const uint64_t *chain = stacks->seen.words + first;
    const struct unwind_row *row = find_row(space, chain[0]);
    if (!row || row->kind != UNWIND_KIND_OFFSET || row->saved[UNWIND_COLUMN_RETURN] != UNWIND_SAME || caller == 0 ||
        count > LONGEST || (count > 1 && chain[1] == caller))
        return true;
    pcs[0] = chain[0];
    pcs[1] = caller;
    memcpy(pcs + 2, chain + 1, (size_t)(count - 1) * sizeof *pcs);
    return perf_stacks_add(stacks, pcs, (uint32_t)count + 1, &sample->user_stack);
}
#else
// Return addresses lie on the stack only: a chain of frame pointers is all there is.
static bool add_leaf_caller(const struct unwind_registers *registers, const struct unwind_modules *space,
                            struct perf_stacks *stacks, struct perf_sample *sample) {
    (void)registers, (void)space, (void)stacks, (void)sample;
    return true;
}
#endif

bool unwind_copied(const uint8_t *data, uint64_t user_registers, const struct unwind_modules *space,
                   struct perf_stacks *stacks, struct perf_sample *sample) {
    const uint64_t needed = unwind_bit(UNWIND_PC) | unwind_bit(UNWIND_SP);
    struct unwind_registers registers;
    struct walk walk;
    if (sample->registers == 0 || sample->abi != PERF_SAMPLE_REGS_ABI_64)
        return true;
    load_registers(data + sample->registers, user_registers, &registers);
    if ((registers.known & needed) != needed)
        return add_leaf_caller(&registers, space, stacks, sample);
    struct copied_memory memory = {data + sample->memory, registers.value[UNWIND_SP], sample->memory_size};
    struct stack_access access = {read_copied, NULL, &memory};
    walk_registers(space, &registers, &access, &walk);
    sample->cut = (uint8_t)walk.cut;
    return perf_stacks_add(stacks, walk.pcs, walk.depth, &sample->user_stack);
}
