// What is known about a key without building it.
#include "btree.h"

#include <string.h>

void get_key_info(const struct page *page, const struct key *key, struct key_info *info) {
    info->data = key->built;
    info->size = key->built_size;
    info->prefix_size = (uint32_t)strlen(page->prefixes[key->prefix]);
}
