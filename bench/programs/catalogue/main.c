// catalogue TABLES WARM_PAGES RELEASE: writes tables as that release would have, then starts a database on them,
// thrice.
#include <stdio.h>
#include <stdlib.h>

#include "catalogue.h"

static void open_one(const char *name, void *value, void *with) {
    struct database *database = with;
    if (!open_tablespace(database, value)) {
        fprintf(stderr, "catalogue: %s is damaged\n", name);
    }
}

static void forget_one(const char *name, void *value, void *with) {
    (void)name, (void)with;
    free(value);
}

static void start(struct database *database, uint32_t warm_pages) {
    load_dictionary(database);
    lookup_each(&database->dictionary, open_one, database);
    warm_up(database, warm_pages);
    lookup_each(&database->dictionary, forget_one, NULL);
    lookup_free(&database->dictionary);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: catalogue TABLES WARM_PAGES RELEASE\n");
        return 2;
    }
    struct database database = {.space_count = (uint32_t)atol(argv[1]), .journal = {.least = JOURNAL_NOTICE}};
    database.options = (struct options){.validate = false, .release = (uint32_t)atol(argv[3])};
    database.spaces = calloc(database.space_count, sizeof *database.spaces);
    if (!database.spaces) {
        abort();
    }
    for (uint32_t i = 0; i < database.space_count; i++) {
        write_tablespace(&database.spaces[i], i, database.options.release);
    }
    for (int i = 0; i < 3; i++) {
        start(&database, (uint32_t)atol(argv[2]));
    }
    printf("tables=%u validated=%llu warmed=%llu\n", database.space_count, (unsigned long long)database.validated,
           (unsigned long long)database.warmed);
    journal_free(&database.journal);
    return 0;
}
