#include "probes/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probes/code.h"
#include "sampler/raw.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static const uintptr_t step = 1 << 20;    // between places that are tried
static const uintptr_t lowest = 0x100000; // below it the system maps nothing

static void *reserved(uintptr_t at, size_t bytes, int protection) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *found = mmap((void *)at, bytes, protection, flags, -1, 0);
    if (found == (void *)at)
        return found;
    if (found != MAP_FAILED) // a kernel that takes the address for a hint
        munmap(found, bytes);
    return NULL;
}

void *memory_near(uintptr_t low, uintptr_t high, size_t bytes) {
    bytes = whole_pages(bytes);
    if (high - low >= code_reach || bytes >= code_reach)
        return NULL;
    void *found = NULL;
    for (uintptr_t room = bytes; low > lowest + room && high - (low - room) < code_reach && !found; room += step)
        found = reserved((low - room) & ~(uintptr_t)(PAGE - 1), bytes, PROT_NONE);
    uintptr_t above = (high + code_clear_above) & ~(step - 1);
    for (uintptr_t at = above; at + bytes - low < code_reach && !found; at += step)
        found = reserved(at, bytes, PROT_NONE);
    return found;
}

static const uintptr_t low_start = 0x20000000, low_end = 0x7ff00000;

void *memory_low(size_t bytes) {
    bytes = whole_pages(bytes);
    void *found = NULL;
    for (uintptr_t at = low_end - bytes; bytes < low_end && at > low_start && !found; at -= step)
        found = reserved(at & ~(uintptr_t)(PAGE - 1), bytes, PROT_READ | PROT_WRITE);
    return found;
}

static bool write_all(int fd, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        long written = raw_write(fd, (const char *)bytes + done, size - done);
        if (written <= 0)
            return false;
        done += (size_t)written;
    }
    return true;
}

bool memory_put_code(void *where, const void *code, size_t bytes) {
    int fd = (int)syscall(SYS_memfd_create, "whyperf", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    bool done = write_all(fd, code, bytes) &&
                mmap(where, whole_pages(bytes), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == where;
    raw_close(fd);
    if (done)
        code_was_written(where, bytes);
    return done;
}

// How much of it was written.
static size_t overwrite(int fd, uintptr_t at, const void *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        long written = syscall(SYS_pwrite64, fd, (const char *)bytes + done, size - done, at + done);
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    return done;
}

bool memory_overwrite(uintptr_t at, const void *bytes, const void *old, size_t size) {
    int fd = raw_open("/proc/self/mem", O_RDWR, 0);
    if (fd < 0)
        return false;
    size_t done = overwrite(fd, at, bytes, size);
    if (done < size)
        overwrite(fd, at, old, done); // no new page is needed for what has been written once
    raw_close(fd);
    code_was_written((void *)at, size);
    return done == size;
}
