/* Packs orders, each for itself, with a dictionary of what orders have in common. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LONGEST = 8192, LEVEL = 3 };

static size_t refused(size_t code) {
    if (ZSTD_isError(code)) {
        fprintf(stderr, "orders: %s\n", ZSTD_getErrorName(code));
        exit(1);
    }
    return code;
}

static size_t write_order(char *text, unsigned number) {
    size_t length = (size_t)sprintf(text, "{\"order\": %u, \"articles\": [", number);
    for (unsigned i = 0; i < 8; i++) {
        unsigned article = (number * 2654435761u + i * 40503u) >> 9;
        length += (size_t)sprintf(text + length, "{\"article\": \"%05u-%x\", \"count\": %u, \"price\": %u.%02u}, ",
                                  article % 99991, article % 4093, article % 9, article % 211, article % 100);
    }
    return length + (size_t)sprintf(text + length, "], \"paid\": %s}\n", number % 7 ? "true" : "false");
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: orders COUNT KILOBYTES_OF_DICTIONARY\n");
        return 2;
    }
    unsigned count = (unsigned)atoi(argv[1]);
    size_t room = (size_t)atoi(argv[2]) << 10, length = 0, total = 0;
    char *known = malloc(room + LONGEST);
    if (!known)
        return 1;
    for (unsigned i = 0; length < room; i++)
        length += write_order(known + length, 1000000000 + i);
    ZSTD_CDict *dictionary = ZSTD_createCDict(known, room, LEVEL);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (!dictionary || !context)
        return 1;
    refused(ZSTD_CCtx_refCDict(context, dictionary));
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++) {
        char text[LONGEST], packed[2 * LONGEST];
        size_t size = write_order(text, i);
        size_t made = refused(ZSTD_compress2(context, packed, sizeof packed, text, size));
        total += made;
        sum = sum * 31 + (unsigned)size;
    }
    printf("%08x %d\n", sum, total > count);
    ZSTD_freeCCtx(context);
    ZSTD_freeCDict(dictionary);
    free(known);
    return 0;
}
