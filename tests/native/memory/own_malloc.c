// An allocator of the program's own: blocks with a mark before them, so that foreign ones are noticed.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 512 << 20, MARK = 0x5eed };
static _Alignas(64) char room[ROOM];
static _Atomic size_t used;

struct head {
    _Alignas(64) size_t size;
    size_t mark;
};

void *malloc(size_t size) {
    size_t whole = sizeof(struct head) + (size + 63) / 64 * 64;
    size_t at = atomic_fetch_add(&used, whole);
    if (at + whole > ROOM) {
        errno = ENOMEM;
        return NULL;
    }
    struct head *head = (struct head *)(room + at);
    head->size = size;
    head->mark = MARK;
    return head + 1;
}

void free(void *block) {
    if (block && ((struct head *)block - 1)->mark != MARK)
        _exit(99);
}

void *calloc(size_t count, size_t size) {
    return malloc(count * size);
}

void *realloc(void *old, size_t size) {
    void *block = malloc(size);
    if (block && old) {
        size_t had = ((struct head *)old - 1)->size;
        memcpy(block, old, had < size ? had : size);
    }
    return block;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return alignment <= 64 ? malloc(size) : NULL;
}

void *memalign(size_t alignment, size_t size) {
    return aligned_alloc(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = aligned_alloc(alignment, size);
    return *block ? 0 : ENOMEM;
}
