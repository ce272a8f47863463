// One step of a stack walk. Called in signal handlers: no library calls, no memory but what `read` reads.
#include "unwind/unwind.h"

#include "sampler/session.h"

enum { CALLEE_SAVED = 1u << UNWIND_RBX | 1u << UNWIND_RBP | 0xfu << UNWIND_R12 };
static const uint8_t SAVED_REGISTER[UNWIND_SAVED_REGISTERS] = {UNWIND_RBX, UNWIND_RBP, UNWIND_R12,
                                                               UNWIND_R13, UNWIND_R14, UNWIND_R15};

const struct unwind_module *unwind_find_module(const struct unwind_modules *modules, uint64_t pc) {
    uint32_t low = 0, high = modules->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (modules->modules[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == modules->count || pc < modules->modules[low].start)
        return NULL;
    return &modules->modules[low];
}

static uint32_t bucket_of(const struct unwind_table *table, uint32_t address) {
    return (address >> UNWIND_INDEX_SHIFT) - (table->first_address >> UNWIND_INDEX_SHIFT);
}

void unwind_prefetch_index(const struct unwind_table *table, uint32_t address) {
    __builtin_prefetch(&table->index[bucket_of(table, address)]);
}

void unwind_prefetch_rows(const struct unwind_table *table, uint32_t address) {
    uint32_t bucket = bucket_of(table, address);
    if (bucket < table->index_count)
        __builtin_prefetch(&table->rows[table->index[bucket]]);
}

const struct unwind_row *unwind_find_row(const struct unwind_table *table, uint32_t address) {
    const struct unwind_row *rows = table->rows;
    if (table->row_count == 0 || address < table->first_address)
        return NULL;
    // Invariant: rows[low].address <= address, and no row after `high` can hold it.
    uint32_t low = 0, high = table->row_count - 1;
    if (table->index_count) {
        uint32_t bucket = bucket_of(table, address);
        if (bucket >= table->index_count)
            return NULL;
        low = table->index[bucket];
        if (bucket + 1 < table->index_count)
            high = table->index[bucket + 1];
    }
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (rows[middle].address <= address)
            low = middle;
        else
            high = middle - 1;
    }
    return rows[low].kind == UNWIND_KIND_NONE ? NULL : &rows[low];
}

// Where the kernel puts the interrupted registers: ucontext.uc_mcontext.gregs, in its order.
int unwind_leave_signal(struct unwind_cursor *cursor, unwind_read_fn read, void *context) {
    enum { GREGS_OFFSET = 40 };
    static const uint8_t GREGS[UNWIND_REGISTERS] = {
        UNWIND_R8,  UNWIND_R9,  UNWIND_R10, UNWIND_R11, UNWIND_R12, UNWIND_R13, UNWIND_R14, UNWIND_R15, UNWIND_RDI,
        UNWIND_RSI, UNWIND_RBP, UNWIND_RBX, UNWIND_RDX, UNWIND_RAX, UNWIND_RCX, UNWIND_RSP, UNWIND_RIP};
    struct unwind_registers interrupted = {.known = (1u << UNWIND_REGISTERS) - 1};
    uint64_t ucontext = cursor->registers.value[UNWIND_RSP];
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        if (!read(context, ucontext + GREGS_OFFSET + 8 * i, &interrupted.value[GREGS[i]]))
            return WHYPERF_CUT_UNREADABLE;
    cursor->registers = interrupted;
    cursor->pc_is_exact = true;
    return WHYPERF_CUT_NONE;
}

static int find_cfa(const struct unwind_row *row, const struct unwind_registers *registers, unwind_read_fn read,
                    void *context, uint64_t *cfa) {
    if (row->reg >= UNWIND_RIP)
        return WHYPERF_CUT_RULE;
    if (!(registers->known & 1u << row->reg))
        return WHYPERF_CUT_REGISTER;
    uint64_t base = registers->value[row->reg];
    switch (row->kind) {
    case UNWIND_KIND_OFFSET:
    case UNWIND_KIND_REALIGN:
        *cfa = base + (uint64_t)(int64_t)row->offset;
        return WHYPERF_CUT_NONE;
    case UNWIND_KIND_DEREF:
        return read(context, base + (uint64_t)(int64_t)row->offset, cfa) ? WHYPERF_CUT_NONE : WHYPERF_CUT_UNREADABLE;
    case UNWIND_KIND_DEREF_PLUS:
        if (!read(context, base + (uint64_t)(int64_t)(row->offset >> 8), cfa))
            return WHYPERF_CUT_UNREADABLE;
        *cfa += row->offset & 255;
        return WHYPERF_CUT_NONE;
    case UNWIND_KIND_PLT:
        *cfa = base + 8 + ((int32_t)(registers->value[UNWIND_RIP] & 15) >= row->offset ? 8 : 0);
        return WHYPERF_CUT_NONE;
    default:
        return WHYPERF_CUT_RULE;
    }
}

// From what the row's saved[] count; false when that register's value is not known.
static bool saved_base(const struct unwind_row *row, const struct unwind_registers *registers, uint64_t cfa,
                       uint64_t *base) {
    if (row->kind != UNWIND_KIND_DEREF && row->kind != UNWIND_KIND_REALIGN) {
        *base = cfa;
        return true;
    }
    unsigned reg = row->kind == UNWIND_KIND_REALIGN ? (unsigned)UNWIND_RBP : row->reg;
    *base = registers->value[reg] + 8;
    return registers->known & 1u << reg;
}

int unwind_find_cfa(const struct unwind_cursor *cursor, const struct unwind_row *row, unwind_read_fn read,
                    void *context, uint64_t *cfa) {
    const struct unwind_registers *registers = &cursor->registers;
    int cut = find_cfa(row, registers, read, context, cfa);
    if (cut)
        return cut;
    return *cfa % 8 || *cfa <= registers->value[UNWIND_RSP] ? WHYPERF_CUT_NO_PROGRESS : WHYPERF_CUT_NONE;
}

int unwind_leave(struct unwind_cursor *cursor, const struct unwind_row *row, uint64_t cfa, unwind_read_fn read,
                 void *context, bool *ended) {
    const struct unwind_registers *registers = &cursor->registers;
    // Nothing moves before everything has been read.
    uint64_t restored[UNWIND_SAVED_REGISTERS], return_address, base;
    uint32_t known = registers->known & CALLEE_SAVED;
    uint32_t changed = 0;
    bool base_known = saved_base(row, registers, cfa, &base);
    for (unsigned i = 0; i < UNWIND_SAVED_REGISTERS; i++) {
        int8_t saved = row->saved[i];
        if (saved == UNWIND_SAME)
            continue;
        known &= ~(1u << SAVED_REGISTER[i]);
        if (saved == UNWIND_LOST || !base_known)
            continue;
        if (!read(context, base + (uint64_t)((int64_t)saved * 8), &restored[i]))
            return WHYPERF_CUT_UNREADABLE;
        changed |= 1u << i;
    }
    if (!read(context, cfa - 8, &return_address))
        return WHYPERF_CUT_UNREADABLE;
    *ended = return_address == 0;
    if (*ended)
        return WHYPERF_CUT_NONE;
    struct unwind_registers *caller = &cursor->registers;
    for (unsigned i = 0; changed; i++, changed >>= 1)
        if (changed & 1) {
            caller->value[SAVED_REGISTER[i]] = restored[i];
            known |= 1u << SAVED_REGISTER[i];
        }
    caller->value[UNWIND_RIP] = return_address;
    caller->value[UNWIND_RSP] = cfa;
    caller->known = known | 1u << UNWIND_RIP | 1u << UNWIND_RSP;
    cursor->pc_is_exact = false;
    return WHYPERF_CUT_NONE;
}

int unwind_step(struct unwind_cursor *cursor, const struct unwind_modules *modules, unwind_read_fn read, void *context,
                bool *ended) {
    *ended = cursor->registers.value[UNWIND_RIP] == 0;
    if (*ended)
        return WHYPERF_CUT_NONE;
    uint64_t looked_up = unwind_looked_up(cursor);
    const struct unwind_module *module = unwind_find_module(modules, looked_up);
    if (!module)
        return WHYPERF_CUT_NO_MODULE;
    uint64_t address = looked_up - module->bias;
    const struct unwind_row *row = address <= UINT32_MAX ? unwind_find_row(&module->table, (uint32_t)address) : NULL;
    if (!row)
        return WHYPERF_CUT_NO_ROW;
    *ended = row->kind == UNWIND_KIND_END;
    if (*ended)
        return WHYPERF_CUT_NONE;
    if (row->kind == UNWIND_KIND_SIGNAL)
        return unwind_leave_signal(cursor, read, context);
    uint64_t cfa;
    int cut = unwind_find_cfa(cursor, row, read, context, &cfa);
    return cut ? cut : unwind_leave(cursor, row, cfa, read, context, ended);
}
