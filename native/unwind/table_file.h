// The table file, one per build-id: header, rows, index. Written once by whoever meets a module first, mapped by all.
#ifndef WHYPERF_TABLE_FILE_H
#define WHYPERF_TABLE_FILE_H

#include "unwind/unwind.h"

struct unwind_table_file {
    uint64_t magic;
    uint32_t row_count, index_count;
    // A cheap check that the table belongs to the mapped module: the section's maximal size (struct unwind_image) and
    // FNV-1a of its first UNWIND_HASHED_BYTES bytes.
    uint64_t eh_frame_size;
    uint64_t eh_frame_hash;
};
_Static_assert(sizeof(struct unwind_table_file) % 8 == 0, "rows follow the header");

enum { UNWIND_HASHED_BYTES = 4096 };

uint64_t unwind_hash(const uint8_t *eh_frame, size_t size);

// Bytes that a file for these rows takes.
size_t unwind_table_file_size(const struct unwind_row *rows, uint32_t row_count);

// Fills `file`, which has unwind_table_file_size bytes.
void unwind_table_file_fill(void *file, const struct unwind_row *rows, uint32_t row_count, struct eh_frame section);

// Checks `size` mapped bytes and fills `table`, which then points into them. False for a file that is damaged, of
// another version, or of another module: (eh_frame_size, eh_frame_hash) must be those of the module at hand.
bool unwind_table_file_open(const void *file, size_t size, uint64_t eh_frame_size, uint64_t eh_frame_hash,
                            struct unwind_table *table);

#endif
