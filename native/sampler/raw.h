// File calls that are not cancellation points: libc's open, read and the like would let a cancelled thread end right
// inside our handler. And the kernel's clocks: a program may have a clock_gettime() of its own.
#ifndef WHYPERF_RAW_H
#define WHYPERF_RAW_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "machine/machine.h"

static inline int raw_open(const char *path, int flags, int mode) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static inline void raw_close(int fd) {
    syscall(SYS_close, fd);
}

static inline long raw_read(int fd, void *bytes, size_t size) {
    return syscall(SYS_read, fd, bytes, size);
}

static inline long raw_pread(int fd, void *bytes, size_t size, uint64_t offset) {
    return syscall(SYS_pread64, fd, bytes, size, offset);
}

static inline long raw_write(int fd, const void *bytes, size_t size) {
    return syscall(SYS_write, fd, bytes, size);
}

// 0: the system forbids it. Nothing is set beforehand: compilers do that by a vector, and not every emulator aligns the
// stack of a signal handler for it.
static inline uint64_t raw_clock_ns(clockid_t clock) {
    struct timespec now;
    if (machine_system_call3(SYS_clock_gettime, clock, (long)&now, 0) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
