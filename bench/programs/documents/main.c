// documents RECORDS up|down INDEX...: deletes all records; INDEX is created, latest or name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "documents.h"

static compare_records order_called(const char *name) {
    if (strcmp(name, "created") == 0) {
        return by_created;
    }
    if (strcmp(name, "latest") == 0) {
        return by_latest;
    }
    return strcmp(name, "name") == 0 ? by_name : NULL;
}

int main(int argc, char **argv) {
    int index_count = argc - 3;
    if (index_count < 1 || index_count > MOST_INDEXES) {
        fprintf(stderr, "usage: documents RECORDS up|down created|latest|name...\n");
        return 2;
    }
    struct table table;
    struct index indexes[MOST_INDEXES];
    table_open(&table, (uint32_t)atol(argv[1]));
    for (int number = 0; number < index_count; number++) {
        compare_records compare = order_called(argv[3 + number]);
        if (!compare) {
            fprintf(stderr, "documents: no order is called %s\n", argv[3 + number]);
            return 2;
        }
        index_build(&indexes[number], &table, argv[3 + number], compare);
    }
    struct planner planner;
    planner_open(&planner, &table, indexes, index_count);
    planner_choose(&planner, 100);
    uint64_t digest = remove_all(&table, &planner, strcmp(argv[2], "down") == 0);
    uint64_t walked = 0;
    for (int number = 0; number < index_count; number++) {
        walked += planner.plans[number].cursor.walked;
        index_free(&indexes[number]);
    }
    printf("live %u evictions %lu walked %lu digest %016lx\n", table.live_count, table.evictions, walked, digest);
    table_close(&table);
    return 0;
}
