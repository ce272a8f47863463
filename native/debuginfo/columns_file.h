// Writing the memory file that extract.h describes.
#ifndef WHYPERF_DEBUGINFO_COLUMNS_FILE_H
#define WHYPERF_DEBUGINFO_COLUMNS_FILE_H

#include "debuginfo/column.h"
#include "debuginfo/extract.h"

#include <stddef.h>

struct columns_file {
    int output;
    uint64_t end;
    struct extract_header header;
};

void columns_file_start(struct columns_file *file, int output);
void columns_file_finish(struct columns_file *file);
void write_bytes(struct columns_file *file, const char *name, const char *bytes, size_t size);
void write_field(struct columns_file *file, const char *name, const struct column *items, size_t offset, size_t bytes);
void write_texts(struct columns_file *file, const char *bytes_name, const char *ends_name, const struct texts *texts);

#define WRITE_FIELD(file, name, items, type, field)                                                                    \
    write_field(file, name, items, offsetof(struct type, field), sizeof(((struct type *)0)->field))

#endif
