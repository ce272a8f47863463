// A page in memory becomes an image for the store: cells of whole keys and values, packed, with a checksum.
#include "btree.h"

#include "digest.h"
#include "pack.h"

static void add_cell(struct buffer *cells, const char *key, uint32_t key_size, const struct entry *entry) {
    uint16_t sizes[2] = {(uint16_t)key_size, VALUE_BYTES};
    buffer_add(cells, sizes, sizeof sizes);
    buffer_add(cells, key, key_size);
    buffer_add(cells, &entry->version, sizeof entry->version);
    buffer_add(cells, entry->value, VALUE_BYTES);
}

void reconcile(struct page *page, struct image *image) {
    char text[KEY_BYTES];
    uint32_t size;
    image->cells.size = image->packed.size = 0;
    buffer_padded(&image->cells, page->number, 8);
    for (uint32_t i = 0; i < page->entry_count; i++) {
        convert_key(page, &page->entries[i].key, text, &size);
        add_cell(&image->cells, text, size, &page->entries[i]);
    }
    if (page->number % 16 == 0) { // the first page of an extent is packed
        pack(image->cells.bytes, image->cells.size, &image->packed);
    } else {
        buffer_add(&image->packed, image->cells.bytes, image->cells.size);
    }
    image->checksum = adler_of(image->packed.bytes, image->packed.size);
}
