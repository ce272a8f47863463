#include "probes/plan.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "probes/checksum.h"
#include "probes/code.h"
#include "sampler/raw.h"

_Static_assert(sizeof(struct plan_header) == 80 && sizeof(struct plan_patch) == 24 && sizeof(struct plan_site) == 24,
               "as in plan_file.py");

static const size_t checked_from = offsetof(struct plan_header, version);

bool plan_beside(char *path, const char *folder, const uint8_t *build_id, uint32_t bytes, const char *suffix) {
    char name[2 * PLAN_BUILD_ID_BYTES + 1];
    static const char digits[] = "0123456789abcdef";
    for (uint32_t i = 0; i < bytes; i++) {
        name[2 * i] = digits[build_id[i] >> 4];
        name[2 * i + 1] = digits[build_id[i] & 15];
    }
    name[2 * bytes] = '\0';
    return (size_t)snprintf(path, PATH_MAX, "%s/%s.%s", folder, name, suffix) < PATH_MAX;
}

const void *plan_mapped(const char *path, size_t *bytes) {
    int fd = raw_open(path, O_RDONLY, 0);
    if (fd < 0)
        return NULL;
    struct stat status;
    void *found = MAP_FAILED;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size <= PLAN_MOST_BYTES) {
        *bytes = (size_t)status.st_size;
        found = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    raw_close(fd);
    return found == MAP_FAILED ? NULL : found;
}

// Cuts the file into its parts; false if they do not make up the file exactly.
static bool cut(struct plan *plan) {
    const struct plan_header *header = plan->header;
    uint64_t patches = sizeof *header;
    uint64_t fixes = patches + (uint64_t)header->patches * sizeof *plan->patches;
    uint64_t increments = fixes + (uint64_t)header->fixes * sizeof *plan->fixes;
    uint64_t stubs = increments + (uint64_t)header->increments * sizeof *plan->increments;
    uint64_t sites = stubs + header->stub_bytes;
    uint64_t end = sites + (uint64_t)header->sites * sizeof(struct plan_site);
    if (end != plan->bytes || header->stub_bytes % 16 != 0)
        return false;
    const char *file = (const char *)header;
    plan->patches = (const void *)(file + patches);
    plan->fixes = (const void *)(file + fixes);
    plan->increments = (const void *)(file + increments);
    plan->stubs = (const void *)(file + stubs);
    return header->checksum == checksum(file + checked_from, sites - checked_from);
}

// Everything within its bounds, patches in order and apart: whatever wrote the file.
static bool contents_are_sound(const struct plan *plan) {
    const struct plan_header *header = plan->header;
    uint64_t free_from = 0;
    for (uint32_t i = 0; i < header->patches; i++) {
        const struct plan_patch *patch = &plan->patches[i];
        if (patch->kind >= PATCH_TRAP && !(header->flags & PLAN_HAS_TRAPS))
            return false;
        if (!code_patch_is_sound(patch) || patch->stub >= header->stub_bytes || patch->at < free_from)
            return false;
        free_from = (uint64_t)patch->at + patch->size;
    }
    for (uint32_t i = 0; i < header->fixes; i++)
        if ((uint64_t)plan->fixes[i] + PLAN_FIX_BYTES > header->stub_bytes)
            return false;
    for (uint32_t i = 0; i < header->increments; i++)
        if ((uint64_t)plan->increments[i].at + code_increment_bytes > header->stub_bytes ||
            plan->increments[i].counter >= header->counters)
            return false;
    return true;
}

static enum probes_reason check(struct plan *plan, const uint8_t *build_id, uint32_t build_id_bytes) {
    const struct plan_header *header = plan->header;
    if (plan->bytes < sizeof *header || memcmp(header->magic, PLAN_MAGIC, sizeof header->magic) != 0)
        return PROBES_PLAN_DAMAGED;
    if (header->version != PLAN_VERSION || header->machine != code_machine)
        return PROBES_PLAN_OTHER_VERSION;
    if (header->build_id_bytes != build_id_bytes || memcmp(header->build_id, build_id, build_id_bytes) != 0)
        return PROBES_PLAN_DAMAGED;
    return cut(plan) && contents_are_sound(plan) ? PROBES_DONE : PROBES_PLAN_DAMAGED;
}

enum probes_reason plan_open(const char *folder, const uint8_t *build_id, uint32_t build_id_bytes, struct plan *plan) {
    char path[PATH_MAX];
    memset(plan, 0, sizeof *plan);
    if (!build_id_bytes || build_id_bytes > PLAN_BUILD_ID_BYTES)
        return PROBES_NO_BUILD_ID;
    if (!plan_beside(path, folder, build_id, build_id_bytes, "plan"))
        return PROBES_NO_PLAN;
    plan->header = plan_mapped(path, &plan->bytes);
    if (!plan->header)
        return PROBES_NO_PLAN;
    enum probes_reason reason = check(plan, build_id, build_id_bytes);
    if (reason)
        plan_close(plan);
    return reason;
}

uint32_t plan_flags(const char *folder, const uint8_t *build_id, uint32_t build_id_bytes) {
    char path[PATH_MAX];
    struct plan_header header;
    if (!build_id_bytes || build_id_bytes > PLAN_BUILD_ID_BYTES ||
        !plan_beside(path, folder, build_id, build_id_bytes, "plan"))
        return 0;
    int fd = raw_open(path, O_RDONLY, 0);
    if (fd < 0)
        return 0;
    bool whole = raw_pread(fd, &header, sizeof header, 0) == (long)sizeof header;
    raw_close(fd);
    return whole ? header.flags : 0;
}

void plan_close(struct plan *plan) {
    if (plan->header)
        munmap((void *)plan->header, plan->bytes);
    plan->header = NULL;
}
