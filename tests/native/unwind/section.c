// Compiles an .eh_frame section from standard input and writes its rows to standard output.
//
//   section ADDRESS ENTRY
#include "stacks/tables.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static uint8_t bytes[1 << 20];
    if (argc != 3)
        return 2;
    // An exact copy on the heap, so that a sanitizer sees every read beyond its end.
    size_t size = fread(bytes, 1, sizeof bytes, stdin);
    uint8_t *copy = malloc(size ? size : 1);
    for (size_t i = 0; i < size; i++)
        copy[i] = bytes[i];
    struct row_buffer rows = {.grow = grow_on_heap};
    if (!unwind_compile((struct eh_frame){copy, size, strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0)}, &rows))
        return 1;
    if (rows.count)
        fwrite(rows.rows, sizeof *rows.rows, rows.count, stdout);
    free(copy);
    free(rows.rows);
    return 0;
}
