// Where images go: extents of one file, or of none where nothing is to be kept.
#include "btree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NO_FILE = -1 };

void store_open(struct store *store, const char *path) {
    store->file = NO_FILE;
    if (path) {
        store->file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (store->file < 0) {
            perror(path);
            exit(1);
        }
        unlink(path);
    }
}

static void add_extent(struct store *store) {
    if (store->extent_count == store->extent_room) {
        store->extent_room = store->extent_room ? store->extent_room * 2 : 64;
        store->extents = realloc(store->extents, store->extent_room * sizeof *store->extents);
        if (!store->extents) {
            abort();
        }
    }
    store->extents[store->extent_count++] = store->bytes;
}

void store_write(struct store *store, const struct image *image) {
    add_extent(store);
    if (store->file != NO_FILE) {
        ssize_t written = pwrite(store->file, image->packed.bytes, image->packed.size, (off_t)store->bytes);
        if (written != (ssize_t)image->packed.size || fdatasync(store->file)) {
            perror("btree: the store cannot be written");
            exit(1);
        }
    }
    store->bytes += image->packed.size;
    store->digest = store->digest * 16777619 ^ image->checksum;
    store->writes++;
}

void store_close(struct store *store) {
    if (store->file != NO_FILE) {
        close(store->file);
    }
    free(store->extents);
}
