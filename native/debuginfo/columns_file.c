#define _GNU_SOURCE
#include "debuginfo/columns_file.h"

#include "debuginfo/isolate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_all(int output, const char *bytes, size_t size, uint64_t offset) {
    while (size) {
        ssize_t written = pwrite(output, bytes, size, (off_t)offset);
        if (written <= 0)
            isolate_give_up();
        bytes += written;
        size -= (size_t)written;
        offset += (uint64_t)written;
    }
}

void write_bytes(struct columns_file *file, const char *name, const char *bytes, size_t size) {
    struct extract_column *column = &file->header.columns[file->header.column_count++];
    strncpy(column->name, name, EXTRACT_NAME_BYTES - 1);
    column->offset = file->end;
    column->bytes = size;
    write_all(file->output, bytes, size, file->end);
    file->end = (file->end + size + 63) & ~63ull;
}

void write_field(struct columns_file *file, const char *name, const struct column *items, size_t offset, size_t bytes) {
    char *field = malloc(items->count * bytes + 1);
    if (!field)
        isolate_give_up();
    for (size_t i = 0; i < items->count; i++)
        memcpy(field + i * bytes, items->items + i * items->item_bytes + offset, bytes);
    write_bytes(file, name, field, items->count * bytes);
    free(field);
}

void write_texts(struct columns_file *file, const char *bytes_name, const char *ends_name, const struct texts *texts) {
    write_bytes(file, bytes_name, texts->bytes.items, texts->bytes.count);
    write_bytes(file, ends_name, texts->offsets.items, texts->offsets.count * sizeof(uint64_t));
}

void columns_file_start(struct columns_file *file, int output) {
    *file = (struct columns_file){.output = output, .end = (sizeof(struct extract_header) + 63) & ~63ull};
}

void columns_file_finish(struct columns_file *file) {
    file->header.magic = EXTRACT_MAGIC;
    write_all(file->output, (const char *)&file->header, sizeof file->header, 0);
}
