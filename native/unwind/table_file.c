// Laying out and checking table files: memory only, so that the sampler can do both inside a signal handler.
#include "unwind/table_file.h"

#include <string.h>

uint64_t unwind_hash(const uint8_t *eh_frame, size_t size) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < size && i < UNWIND_HASHED_BYTES; i++)
        hash = (hash ^ eh_frame[i]) * 0x100000001b3ull;
    return hash;
}

static size_t size_of_parts(uint64_t row_count, uint64_t index_count) {
    return sizeof(struct unwind_table_file) + row_count * sizeof(struct unwind_row) + index_count * sizeof(uint32_t);
}

size_t unwind_table_file_size(const struct unwind_row *rows, uint32_t row_count) {
    return size_of_parts(row_count, unwind_index_size(rows, row_count));
}

void unwind_table_file_fill(void *file, const struct unwind_row *rows, uint32_t row_count, struct eh_frame section) {
    struct unwind_table_file *header = file;
    struct unwind_row *rows_in_file = (struct unwind_row *)(header + 1);
    *header = (struct unwind_table_file){
        .magic = UNWIND_TABLE_MAGIC,
        .row_count = row_count,
        .index_count = unwind_index_size(rows, row_count),
        .eh_frame_size = section.size,
        .eh_frame_hash = unwind_hash(section.bytes, section.size),
    };
    if (row_count == 0)
        return;
    memcpy(rows_in_file, rows, row_count * sizeof *rows);
    unwind_build_index(rows, row_count, (uint32_t *)(rows_in_file + row_count), header->index_count);
}

bool unwind_table_file_open(const void *file, size_t size, uint64_t eh_frame_size, uint64_t eh_frame_hash,
                            struct unwind_table *table) {
    const struct unwind_table_file *header = file;
    if (size < sizeof *header || header->magic != UNWIND_TABLE_MAGIC || header->eh_frame_size != eh_frame_size ||
        header->eh_frame_hash != eh_frame_hash || size_of_parts(header->row_count, header->index_count) != size)
        return false;
    table->rows = (const struct unwind_row *)(header + 1);
    table->row_count = header->row_count;
    table->index = (const uint32_t *)(table->rows + header->row_count);
    table->index_count = header->index_count;
    table->first_address = header->row_count ? table->rows[0].address : 0;
    // Rows may say anything, each is checked when it is used; an index out of range would lead outside the file.
    for (uint32_t i = 0; i < table->index_count; i++)
        if (table->index[i] >= table->row_count)
            return false;
    return true;
}
