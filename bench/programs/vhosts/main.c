// vhosts HOSTS LINES: starts with so many virtual hosts of so many lines each.
#include <stdio.h>
#include <stdlib.h>

#include "vhosts.h"

int main(int argc, char **argv) {
    struct modules modules = {0};
    struct buffer text = {0};
    struct configuration configuration = {.journal = {.least = JOURNAL_NOTICE}};
    if (argc != 3) {
        fprintf(stderr, "usage: vhosts HOSTS LINES\n");
        return 2;
    }
    if (!load_modules(&modules, argv[0])) {
        return 1;
    }
    make_configuration(&text, (uint32_t)atol(argv[1]), (uint32_t)atol(argv[2]));
    read_configuration(&configuration, &modules, text.bytes, text.size);
    printf("hosts=%u lines=%u errors=%u\n", configuration.host_count, configuration.line, configuration.errors);
    buffer_free(&text);
    journal_free(&configuration.journal);
    arena_clear(&configuration.arena);
    return 0;
}
