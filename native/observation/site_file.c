#include "observation/site_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "observation/registers.h"
#include "probes/checksum.h"

_Static_assert(sizeof(struct site_file_header) == 40 && sizeof(struct site_row) == 40, "as in plans.py");

static const size_t checked_from = offsetof(struct site_file_header, version);

static bool is_sound(const struct site_row *row, const struct site_file_header *header, const struct plan *plan) {
    const struct plan_header *planned = plan->header;
    return row->patch < planned->patches && row->site < SITE_MOST &&
           (row->after == SITE_NOWHERE || (uint64_t)row->after + trap_bytes <= planned->stub_bytes) &&
           (uint64_t)row->first_value + row->values <= header->values && row->base < REGISTERS &&
           row->index < REGISTERS && row->memory_bytes <= sizeof(uint64_t) && row->watched < VECTOR + VECTORS &&
           row->vector < VECTORS && row->forced < REGISTERS && row->forced_bytes <= sizeof(uint64_t);
}

static bool rows_are_sound(const struct site_file *file, const struct plan *plan) {
    for (uint32_t i = 0; i < file->header->rows; i++)
        if (!is_sound(&file->rows[i], file->header, plan) || (i && file->rows[i].patch < file->rows[i - 1].patch))
            return false;
    return true;
}

static bool cut(struct site_file *file, const struct plan *plan) {
    const struct site_file_header *header = file->header;
    if (file->bytes < sizeof *header || memcmp(header->magic, SITE_FILE_MAGIC, sizeof header->magic) != 0 ||
        header->version != SITE_FILE_VERSION || header->plan_checksum != plan->header->checksum)
        return false;
    uint64_t rows = sizeof *header, values = rows + (uint64_t)header->rows * sizeof *file->rows;
    if (values + (uint64_t)header->values * sizeof *file->values != file->bytes)
        return false;
    const char *content = (const char *)header;
    file->rows = (const void *)(content + rows);
    file->values = (const void *)(content + values);
    return header->checksum == checksum(content + checked_from, file->bytes - checked_from) &&
           rows_are_sound(file, plan);
}

enum probes_reason site_file_open(const char *folder, const struct plan *plan, struct site_file *file) {
    char path[PATH_MAX];
    memset(file, 0, sizeof *file);
    size_t bytes;
    if (!plan_beside(path, folder, plan->header->build_id, plan->header->build_id_bytes, "sites") ||
        !(file->header = plan_mapped(path, &bytes)))
        return PROBES_NO_PLAN;
    file->bytes = bytes;
    if (cut(file, plan))
        return PROBES_DONE;
    site_file_close(file);
    return PROBES_PLAN_DAMAGED;
}

void site_file_close(struct site_file *file) {
    if (file->header)
        munmap((void *)file->header, file->bytes);
    file->header = NULL;
}
