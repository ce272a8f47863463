// One step of a stack walk. Called in signal handlers: no library calls, no memory but what `read` reads.
#include "unwind/unwind.h"

#include "sampler/session.h"

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

int unwind_step(struct unwind_cursor *cursor, const struct unwind_modules *modules, unwind_read_fn read, void *context,
                bool *ended) {
    *ended = cursor->registers.value[UNWIND_PC] == 0;
    if (*ended)
        return WHYPERF_CUT_NONE;
    uint64_t looked_up = unwind_looked_up(cursor);
    const struct unwind_module *module = unwind_find_module(modules, looked_up);
    uint64_t address = module ? looked_up - module->bias : UINT64_MAX;
    const struct unwind_row *row = address <= UINT32_MAX ? unwind_find_row(&module->table, (uint32_t)address) : NULL;
    if (!row && unwind_at_signal_return(cursor, read, context))
        return unwind_leave_signal(cursor, read, context);
    if (!row)
        return module ? WHYPERF_CUT_NO_ROW : WHYPERF_CUT_NO_MODULE;
    *ended = row->kind == UNWIND_KIND_END;
    if (*ended)
        return WHYPERF_CUT_NONE;
    if (row->kind == UNWIND_KIND_SIGNAL)
        return unwind_leave_signal(cursor, read, context);
    uint64_t cfa;
    int cut = unwind_find_cfa(cursor, row, read, context, &cfa);
    return cut ? cut : unwind_leave(cursor, row, cfa, read, context, ended);
}
