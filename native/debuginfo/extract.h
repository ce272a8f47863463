// Reads one binary with all that belongs to it and writes columns.
#ifndef WHYPERF_DEBUGINFO_EXTRACT_H
#define WHYPERF_DEBUGINFO_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>

struct extract_request {
    const char *path;          // "[vdso]": the one mapped into this process
    const char *debug_folders; // as libdwfl takes them, colon-separated
    bool symbols_only;
};

// The memory file: this header, then columns in native byte order, each aligned to 64 bytes.
#define EXTRACT_MAGIC 0x316f666e69627077ull // "wpbinfo1"; written last
enum { EXTRACT_COLUMNS_MAX = 32, EXTRACT_NAME_BYTES = 24 };

struct extract_column {
    char name[EXTRACT_NAME_BYTES];
    uint64_t offset, bytes;
};

struct extract_header {
    uint64_t magic, column_count;
    struct extract_column columns[EXTRACT_COLUMNS_MAX];
};

bool extract(void *request, int output);

#endif
