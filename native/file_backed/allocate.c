#define _GNU_SOURCE
#include "file_backed/allocate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

// Smaller arrays are not worth a file, and do not count: how many there are does not depend on a recording's size.
#define LEAST_LARGE ((size_t)256 << 10)

// Of a disk; of a small one a sixteenth.
#define LEFT_TO_OTHERS ((uint64_t)1 << 30)

enum place { SMALL, IN_MEMORY, IN_FILE };

// In front of every array, as long as a cache line: arrays are as aligned as without it.
struct block {
    size_t size; // with this header
    enum place where;
    char unused[52];
};

_Static_assert(sizeof(struct block) == 64, "a cache line");

static struct {
    pthread_mutex_t lock;
    const struct array_allocator *usual;
    char *folder;
    size_t limit;
    size_t in_memory; // of large ones
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

// Takes the room out of what may be in memory, if there is enough left.
static bool fits_in_memory(size_t size) {
    pthread_mutex_lock(&state.lock);
    bool fits = size <= state.limit && state.in_memory <= state.limit - size;
    if (fits)
        state.in_memory += size;
    pthread_mutex_unlock(&state.lock);
    return fits;
}

static void leave_memory(size_t size) {
    pthread_mutex_lock(&state.lock);
    state.in_memory -= size;
    pthread_mutex_unlock(&state.lock);
}

static int nameless_file(const char *folder) {
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0)
        return file;
    // Not all filesystems know files that never had a name.
    char *name;
    if (asprintf(&name, "%s/whyperf-XXXXXX", folder) < 0)
        return -1;
    file = mkostemp(name, O_CLOEXEC);
    if (file >= 0)
        unlink(name);
    free(name);
    return file;
}

// Whether others still have room on the disk then.
static bool leaves_room(int file, size_t size) {
    struct statfs disk;
    if (fstatfs(file, &disk))
        return false;
    uint64_t block = (uint64_t)disk.f_bsize, others = disk.f_blocks * block / 16;
    return disk.f_bavail * block >= size + (others < LEFT_TO_OTHERS ? others : LEFT_TO_OTHERS);
}

static bool reserve(int file, size_t size) {
    int error;
    do
        error = posix_fallocate(file, 0, (off_t)size);
    while (error == EINTR);
    return error == 0;
}

// Zeroes, in a file; NULL where the disk has no room for them.
static struct block *in_file(size_t size) {
    pthread_mutex_lock(&state.lock);
    int file = nameless_file(state.folder);
    pthread_mutex_unlock(&state.lock);
    if (file < 0)
        return NULL;
    // Reserved: on a disk that fills up later, writing to the mapping would be deadly.
    void *at = MAP_FAILED;
    if (leaves_room(file, size) && reserve(file, size))
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return at == MAP_FAILED ? NULL : at;
}

static void *described(struct block *block, size_t size, enum place where) {
    if (!block)
        return NULL;
    block->size = size;
    block->where = where;
    return block + 1;
}

static void *allocate(size_t wanted, bool zeroed) {
    const struct array_allocator *usual = state.usual;
    size_t size;
    if (__builtin_add_overflow(wanted, sizeof(struct block), &size))
        return NULL;
    enum place where = size < LEAST_LARGE ? SMALL : fits_in_memory(size) ? IN_MEMORY : IN_FILE;
    if (where == IN_FILE) {
        struct block *block = in_file(size);
        if (block)
            return described(block, size, IN_FILE);
        where = SMALL; // as without us: in memory, and nobody counts it
    }
    struct block *block = zeroed ? usual->calloc(usual->context, 1, size) : usual->malloc(usual->context, size);
    if (!block && where == IN_MEMORY)
        leave_memory(size);
    return described(block, size, where);
}

static void *array_malloc(void *unused, size_t size) {
    (void)unused;
    return allocate(size, false);
}

static void *array_calloc(void *unused, size_t count, size_t each) {
    (void)unused;
    size_t size;
    return __builtin_mul_overflow(count, each, &size) ? NULL : allocate(size, true);
}

static void array_free(void *unused, void *at, size_t size) {
    (void)unused, (void)size; // ours is exact
    if (!at)
        return;
    struct block *block = (struct block *)at - 1;
    if (block->where == IN_FILE) {
        munmap(block, block->size);
        return;
    }
    if (block->where == IN_MEMORY)
        leave_memory(block->size);
    state.usual->free(state.usual->context, block, block->size);
}

static void *array_realloc(void *unused, void *at, size_t size) {
    void *new = allocate(size, false);
    if (new && at) {
        size_t held = ((struct block *)at - 1)->size - sizeof(struct block);
        memcpy(new, at, held < size ? held : size);
        array_free(unused, at, held);
    }
    return new;
}

struct array_handler file_backed_handler = {
    .name = "whyperf: large arrays in files",
    .version = 1,
    .allocator = {.malloc = array_malloc, .calloc = array_calloc, .realloc = array_realloc, .free = array_free},
};

bool is_on_disk(const char *folder) {
    struct statfs found;
    if (statfs(folder, &found) || found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC)
        return false;
    int file = nameless_file(folder);
    if (file >= 0)
        close(file);
    return file >= 0;
}

size_t allow_in_memory(size_t limit) {
    pthread_mutex_lock(&state.lock);
    size_t before = state.limit;
    state.limit = limit;
    pthread_mutex_unlock(&state.lock);
    return before;
}

bool put_files_in(const char *folder, const struct array_allocator *usual) {
    char *copy = strdup(folder);
    if (!copy)
        return false;
    pthread_mutex_lock(&state.lock);
    free(state.folder);
    state.folder = copy;
    if (!state.usual)
        state.usual = usual;
    pthread_mutex_unlock(&state.lock);
    return true;
}
