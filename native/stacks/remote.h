// Reading another process' memory without stopping it.
#ifndef WHYPERF_REMOTE_H
#define WHYPERF_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The bytes at `address` that could be read, at most `size`: less where a mapping ends, 0 with errno where none begins.
size_t remote_read_some(pid_t pid, uint64_t address, void *bytes, size_t size);

// An unwind_image_read_fn; `context` points to the pid.
bool remote_read(void *context, uint64_t address, void *bytes, size_t size);

enum { REMOTE_WINDOW_BYTES = 32 * 1024 };

// A stretch of a stack, fetched with one system call: most walks need no other.
struct remote_window {
    pid_t pid;
    bool moved; // what it holds now is not what it was opened with
    uint64_t start;
    size_t size;
    _Alignas(8) uint8_t bytes[REMOTE_WINDOW_BYTES];
};

// Fetches the stretch that begins at `address`, or nothing where it cannot be read.
void remote_window_open(struct remote_window *window, pid_t pid, uint64_t address);

// An unwind_read_fn; `context` is the window. A word outside of it moves the window there.
bool remote_window_read(void *context, uint64_t address, uint64_t *word);

#endif
