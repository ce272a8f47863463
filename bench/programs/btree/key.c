// Keys and their prefixes. A key's whole text is cached with it once it was built.
#include "btree.h"

#include <stdlib.h>
#include <string.h>

uint64_t keys_built, keys_copied;

static uint32_t put_digits(char *out, uint32_t number) {
    char reversed[12];
    uint32_t count = 0;
    do {
        reversed[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = reversed[count - 1 - i];
    }
    return count;
}

// From scratch: the prefix, the suffix in decimal, and a check letter over both.
void build_key(const struct page *page, struct key *key, char *text, uint32_t *size) {
    const char *prefix = page->prefixes[key->prefix];
    uint32_t at = 0, sum = 0;
    while (prefix[at]) {
        text[at] = prefix[at];
        sum = sum * 31 + (uint8_t)prefix[at];
        at++;
    }
    at += put_digits(text + at, key->suffix);
    text[at++] = (char)('a' + (sum + key->suffix) % 26);
    text[at] = 0;
    *size = at;
    keys_built++;
    if (!key->built) {
        key->built = malloc(KEY_BYTES);
        if (!key->built) {
            abort();
        }
    }
    memcpy(key->built, text, at + 1);
    key->built_size = at;
}

static void copy_key(const struct key_info *info, char *text, uint32_t *size) {
    memcpy(text, info->data, info->size + 1);
    *size = info->size;
    keys_copied++;
}

void forget_key(struct key *key) {
    free(key->built);
    key->built = NULL;
    key->built_size = 0;
}

void convert_key(const struct page *page, struct key *key, char *text, uint32_t *size) {
    struct key_info info;
    get_key_info(page, key, &info);
    if (info.data && info.size > 0) {
        copy_key(&info, text, size);
    } else {
        build_key(page, key, text, size);
    }
}
