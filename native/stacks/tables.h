// Unwind tables by module: made once, kept in a folder by build-id, shared by all processes that map the module.
#ifndef WHYPERF_TABLES_H
#define WHYPERF_TABLES_H

#include "unwind/image.h"
#include "unwind/unwind.h"

struct module_table {
    struct unwind_table rows;
    uint32_t *functions; // first addresses of the functions in .eh_frame_hdr, ascending
    uint32_t function_count;

    uint8_t build_id[UNWIND_BUILD_ID_MAX];
    uint32_t build_id_size;
    uint64_t eh_frame_size, eh_frame_hash;
    void *file; // what `rows` points into, mapped
    size_t file_size;
    struct module_table *next;
};

struct table_store {
    char *folder;
    struct module_table *first;
};

// The table of a module, from memory, from the folder, or made from the module's .eh_frame. NULL without memory, or if
// the module cannot be read.
const struct module_table *table_store_get(struct table_store *store, unwind_image_read_fn read, void *context,
                                           const struct unwind_image *image);
void table_store_clear(struct table_store *store);

// Grows a row_buffer on the heap.
bool grow_on_heap(struct row_buffer *buffer);

// The first address of the function that holds `address`; false when unknown.
bool function_start(const struct module_table *table, uint32_t address, uint32_t *start);

#endif
