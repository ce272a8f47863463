#define _GNU_SOURCE
#include "session/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_BACKED_SLOTS = 256 };

// False only when the disk is full: file systems that cannot reserve blocks get a sparse file.
static bool back(int fd, uint32_t slots) {
    int failed;
    do
        failed = fallocate(fd, 0, 0, (off_t)WHYPERF_BYTES_OF_SLOTS(slots)) ? errno : 0;
    while (failed == EINTR);
    return failed == 0 || failed == EOPNOTSUPP || failed == ENOSYS;
}

static bool write_header(int fd, const struct rings_settings *settings, uint32_t slots) {
    struct whyperf_session header = {
        .version = WHYPERF_SESSION_VERSION,
        .slots = slots,
        .ring_bytes = WHYPERF_RING_BYTES,
        .rate_hz = settings->rate_hz,
        .use_perf_events = settings->use_perf_events,
        .values_depth = settings->values_depth,
        .memory_interval = settings->memory_interval,
        .fault_interval = settings->fault_interval,
        .magic = WHYPERF_SESSION_MAGIC,
    };
    memcpy(header.tables, settings->tables, strlen(settings->tables));
    memcpy(header.library, settings->library, strlen(settings->library));
    ssize_t written = pwrite(fd, &header, sizeof header, 0);
    if (written >= 0 && written < (ssize_t)sizeof header)
        errno = ENOSPC;
    return written == (ssize_t)sizeof header;
}

enum rings_result rings_create(const char *path, const struct rings_settings *settings) {
    if (strlen(settings->tables) >= WHYPERF_PATH_MAX || strlen(settings->library) >= WHYPERF_PATH_MAX) {
        errno = ENAMETOOLONG;
        return RINGS_ERRNO;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return RINGS_ERRNO;
    bool made = ftruncate(fd, (off_t)WHYPERF_SESSION_BYTES) == 0 && back(fd, FIRST_BACKED_SLOTS) &&
                write_header(fd, settings, FIRST_BACKED_SLOTS);
    int failed = errno;
    close(fd);
    if (made)
        return RINGS_OK;
    unlink(path);
    errno = failed;
    return RINGS_ERRNO;
}

bool rings_are_whole(const struct rings *rings) {
    struct stat status;
    return fstat(rings->fd, &status) == 0 && S_ISREG(status.st_mode) &&
           (uint64_t)status.st_size >= WHYPERF_SESSION_BYTES;
}

enum rings_result rings_open(struct rings *rings, const char *path, bool as_copy) {
    *rings = (struct rings){.is_copy = as_copy};
    rings->fd = open(path, (as_copy ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK);
    if (rings->fd < 0)
        return RINGS_ERRNO;
    void *mapped = MAP_FAILED;
    if (rings_are_whole(rings))
        mapped =
            mmap(NULL, WHYPERF_SESSION_BYTES, PROT_READ | PROT_WRITE, as_copy ? MAP_PRIVATE : MAP_SHARED, rings->fd, 0);
    else
        errno = 0;
    if (mapped == MAP_FAILED) {
        int failed = errno;
        close(rings->fd);
        errno = failed;
        return failed ? RINGS_ERRNO : RINGS_NOT_ONE;
    }
    rings->session = mapped;
    const struct whyperf_session *session = rings->session;
    if (session->magic == WHYPERF_SESSION_MAGIC && session->version == WHYPERF_SESSION_VERSION &&
        session->ring_bytes == WHYPERF_RING_BYTES)
        return RINGS_OK;
    rings_close(rings);
    return RINGS_NOT_ONE;
}

void rings_close(struct rings *rings) {
    if (!rings->session)
        return;
    munmap(rings->session, WHYPERF_SESSION_BYTES);
    close(rings->fd);
    rings->session = NULL;
}

void rings_back_more(struct rings *rings, uint32_t taken) {
    uint32_t slots = atomic_load(&rings->session->slots);
    if (rings->is_copy || slots >= WHYPERF_SLOTS || slots == 0 || taken < slots / 2)
        return;
    uint32_t more = slots > WHYPERF_SLOTS / 2 ? WHYPERF_SLOTS : slots * 2;
    if (back(rings->fd, more))
        atomic_store(&rings->session->slots, more);
}
