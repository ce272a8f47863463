#include "probes/disk.h"

#include <errno.h>
#include <sys/resource.h>

#include "probes/memory.h"
#include "sampler/raw.h"

bool disk_may_hold(uint64_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

static bool fill_with_zeros(int fd, uint64_t at, uint64_t bytes) {
    static const char zeros[PAGE];
    for (uint64_t done = 0; done < bytes; done += PAGE)
        if (syscall(SYS_pwrite64, fd, zeros, (size_t)PAGE, at + done) != PAGE)
            return false;
    return true;
}

bool disk_take(int fd, uint64_t at, uint64_t bytes) {
    if (bytes == 0)
        return true;
    if (!disk_may_hold(at + bytes))
        return false;
    if (syscall(SYS_fallocate, fd, 0, at, bytes) == 0)
        return true;
    return errno == EOPNOTSUPP && fill_with_zeros(fd, at, bytes);
}
