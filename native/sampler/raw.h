// File calls that are not cancellation points: libc's open, read and the like would let a cancelled thread end right
// inside our handler.
#ifndef WHYPERF_RAW_H
#define WHYPERF_RAW_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

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

#endif
