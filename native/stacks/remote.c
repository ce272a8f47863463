#define _GNU_SOURCE
#include "stacks/remote.h"

#include <string.h>
#include <sys/uio.h>

size_t remote_read_some(pid_t pid, uint64_t address, void *bytes, size_t size) {
    struct iovec here = {bytes, size};
    struct iovec there = {(void *)(uintptr_t)address, size};
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

bool remote_read(void *context, uint64_t address, void *bytes, size_t size) {
    return remote_read_some(*(const pid_t *)context, address, bytes, size) == size;
}

bool remote_window_read(void *context, uint64_t address, uint64_t *word) {
    // Walks go up; a little below the first address wanted may be read too, when frames are searched.
    enum { FIRST_FETCH = 8 * 1024, BELOW = 64 };
    struct remote_window *window = context;
    uint64_t distance = address - window->start;
    if (distance >= window->size || window->size - distance < sizeof *word) {
        size_t wanted = window->size ? REMOTE_WINDOW_BYTES : FIRST_FETCH;
        window->start = address - BELOW;
        window->size = remote_read_some(window->pid, window->start, window->bytes, wanted);
        if (window->size < BELOW + sizeof *word) {
            window->start = address;
            window->size = remote_read_some(window->pid, window->start, window->bytes, wanted);
        }
        distance = address - window->start;
        if (window->size < distance + sizeof *word)
            return false;
    }
    memcpy(word, window->bytes + distance, sizeof *word);
    return true;
}
