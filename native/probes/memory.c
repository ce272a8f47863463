#include "probes/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/raw.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static const uintptr_t reach = 0x7ff00000;     // what 32 bits span to either side, less a margin
static const uintptr_t step = 1 << 20;         // between places that are tried
static const uintptr_t lowest = 0x100000;      // below it the system maps nothing
static const uintptr_t heap_room = 0x40000000; // above a program, where its heap grows

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
    if (high - low >= reach || bytes >= reach)
        return NULL;
    void *found = NULL;
    for (uintptr_t room = bytes; low > lowest + room && high - (low - room) < reach && !found; room += step)
        found = reserved((low - room) & ~(uintptr_t)(PAGE - 1), bytes, PROT_NONE);
    uintptr_t above = (high + heap_room) & ~(step - 1);
    for (uintptr_t at = above; at + bytes - low < reach && !found; at += step)
        found = reserved(at, bytes, PROT_NONE);
    return found;
}

void *memory_low(size_t bytes) {
    bytes = whole_pages(bytes);
    void *found = NULL;
    for (uintptr_t at = reach - bytes; bytes < reach && at > heap_room / 2 && !found; at -= step)
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
    return done == size;
}
