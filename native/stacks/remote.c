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

// Walks go up; a little below the first address wanted may be read too, when frames are searched.
enum { FIRST_FETCH = 8 * 1024, BELOW = 64 };

static void fetch(struct remote_window *window, uint64_t address, size_t wanted) {
    window->start = address - BELOW;
    window->size = remote_read_some(window->pid, window->start, window->bytes, wanted);
    if (window->size < BELOW + sizeof(uint64_t)) {
        window->start = address;
        window->size = remote_read_some(window->pid, window->start, window->bytes, wanted);
    }
}

void remote_window_open(struct remote_window *window, pid_t pid, uint64_t address) {
    window->pid = pid;
    window->moved = false;
    fetch(window, address, FIRST_FETCH);
}

bool remote_window_read(void *context, uint64_t address, uint64_t *word) {
    struct remote_window *window = context;
    uint64_t distance = address - window->start;
    if (distance >= window->size || window->size - distance < sizeof *word) {
        window->moved = true;
        fetch(window, address, REMOTE_WINDOW_BYTES);
        distance = address - window->start;
        if (window->size < distance + sizeof *word)
            return false;
    }
    memcpy(word, window->bytes + distance, sizeof *word);
    return true;
}
