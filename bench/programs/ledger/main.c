// ledger load ROWS | recover ROWS FRAMES INSTANCES | query ROWS LOOKUPS | vacuum SHARDS ROWS OLDEST
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ledger.h"

extern char **environ;

static void load(struct store *store, uint32_t rows) {
    for (uint32_t i = 0; i < rows; i++) {
        struct row row;
        make_row(&row, i, i);
        store_put(store, &row);
    }
}

static uint64_t intact_pages(const struct store *store) {
    uint64_t intact = 0;
    for (size_t i = 0; i + 1 < store->page_count; i++) {
        intact += page_intact(&store->pages[i]);
    }
    return intact;
}

static int run_load(uint32_t rows) {
    struct store store;
    store_open(&store, 64);
    load(&store, rows);
    printf("rows=%u pages=%zu intact=%llu sum=%llu\n", rows, store.page_count, (unsigned long long)intact_pages(&store),
           (unsigned long long)report_rows(&store));
    store_close(&store);
    return 0;
}

static int run_recover(uint32_t rows, struct pool_settings pool) {
    struct log log = {0};
    for (uint32_t i = 0; i < rows; i++) {
        struct row row;
        make_row(&row, i, i);
        log_append(&log, &row, i);
    }
    struct store store;
    store_open(&store, 64);
    recover(&store, &log, pool);
    printf("rows=%u recovered=%u pages=%zu\n", rows, store.transaction, store.page_count);
    store_close(&store);
    free(log.bytes);
    return 0;
}

static int run_query(uint32_t rows, uint32_t lookups) {
    struct store store;
    store_open(&store, 64);
    load(&store, rows);
    uint32_t state = 1, found = 0;
    for (uint32_t i = 0; i < lookups; i++) {
        struct row wanted;
        uint32_t page, slot;
        make_row(&wanted, next_random(&state) % rows, 0);
        found += index_find(store.index, wanted.key, &page, &slot);
    }
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += report_rows(&store);
    }
    printf("found=%u sum=%llu\n", found, (unsigned long long)sum);
    store_close(&store);
    return 0;
}

// One shard, in a process of its own: rows are deleted and vacuumed away in rounds.
static int run_shard(uint32_t rows, uint32_t oldest_snapshot) {
    struct store store;
    store_open(&store, 64);
    load(&store, rows);
    for (uint32_t round = 0; round < 20; round++) {
        for (size_t i = 0; i < store.page_count; i++) {
            for (uint32_t slot = round; slot < store.pages[i].used; slot += 32) {
                store.pages[i].rows[slot].deleted = rows / 2 + slot;
            }
        }
        vacuum(&store, oldest_snapshot);
    }
    printf("intact=%llu\n", (unsigned long long)intact_pages(&store));
    store_close(&store);
    return 0;
}

static int run_vacuum(const char *program, int shards, char *rows, char *oldest) {
    int failed = 0;
    for (int shard = 0; shard < shards; shard++) {
        char *arguments[] = {(char *)program, "shard", rows, oldest, NULL};
        pid_t child;
        int status = 1;
        if (posix_spawn(&child, program, NULL, NULL, arguments, environ) || waitpid(child, &status, 0) < 0) {
            perror("ledger: shard");
            return 1;
        }
        failed += status != 0;
    }
    return failed != 0;
}

static uint32_t number(const char *text) {
    return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 3 && strcmp(argv[1], "load") == 0) {
        return run_load(number(argv[2]));
    }
    if (argc == 5 && strcmp(argv[1], "recover") == 0) {
        return run_recover(number(argv[2]), (struct pool_settings){number(argv[3]), number(argv[4])});
    }
    if (argc == 4 && strcmp(argv[1], "query") == 0) {
        return run_query(number(argv[2]), number(argv[3]));
    }
    if (argc == 4 && strcmp(argv[1], "shard") == 0) {
        return run_shard(number(argv[2]), number(argv[3]));
    }
    if (argc == 5 && strcmp(argv[1], "vacuum") == 0) {
        return run_vacuum(argv[0], (int)number(argv[2]), argv[3], argv[4]);
    }
    fprintf(
        stderr,
        "usage: ledger load ROWS | recover ROWS FRAMES INSTANCES | query ROWS LOOKUPS | vacuum SHARDS ROWS OLDEST\n");
    return 2;
}
