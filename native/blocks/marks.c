#include "blocks/marks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "probes/disk.h"
#include "sampler/raw.h"

_Static_assert(sizeof(struct marks) == 48 && offsetof(struct marks, of) == 48 && sizeof(struct mark) == 32,
               "as in marks.py");

static size_t bytes_for(uint32_t blocks) {
    return sizeof(struct marks) + (size_t)blocks * sizeof(struct mark);
}

// As if all were as long as this one; a single one may be longer.
static int most_files(size_t bytes) {
    size_t most = MARKS_BYTES / bytes;
    return most > MARKS_FILES ? MARKS_FILES : most ? (int)most : 1;
}

static int create_file(const char *folder, size_t bytes, char path[PATH_MAX]) {
    for (int number = 0, most = most_files(bytes); number < most; number++) {
        if ((size_t)snprintf(path, PATH_MAX, "%s/%d.marks", folder, number) >= PATH_MAX)
            return -1;
        int fd = raw_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

struct marks *marks_new(const char *folder, const struct plan *plan) {
    static char path[PATH_MAX]; // stacks may be small; the caller holds a lock
    size_t bytes = bytes_for(plan->header->patches);
    int fd = create_file(folder, bytes, path);
    if (fd < 0)
        return NULL;
    void *found = MAP_FAILED;
    if (disk_take(fd, 0, bytes))
        found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    raw_close(fd);
    if (found == MAP_FAILED) {
        unlink(path);
        return NULL;
    }
    struct marks *marks = found;
    marks->version = MARKS_VERSION;
    marks->blocks = plan->header->patches;
    memcpy(marks->build_id, plan->header->build_id, sizeof marks->build_id);
    marks->build_id_bytes = plan->header->build_id_bytes;
    marks->plan_checksum = plan->header->checksum;
    memcpy(marks->magic, MARKS_MAGIC, sizeof marks->magic); // last: who reads it finds it whole
    return marks;
}

void marks_release(struct marks *marks) {
    if (marks)
        munmap(marks, bytes_for(marks->blocks));
}
