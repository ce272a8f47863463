// Memory of large arrays: the process' own up to a limit, beyond it that of files which have no name.
#ifndef WHYPERF_FILE_BACKED_ALLOCATE_H
#define WHYPERF_FILE_BACKED_ALLOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// As numpy publishes it (NEP 49, numpy 1.22 and later); declared here, building does not need numpy.
struct array_allocator {
    void *context;
    void *(*malloc)(void *context, size_t size);
    void *(*calloc)(void *context, size_t count, size_t each);
    void *(*realloc)(void *context, void *at, size_t size);
    void (*free)(void *context, void *at, size_t size);
};

struct array_handler {
    char name[127];
    uint8_t version;
    struct array_allocator allocator;
};

// Arrays may outlive whoever asked for them: there is one of these in a process.
extern struct array_handler file_backed_handler;

// Whether the folder can hold such files and is on a disk: files in memory would gain nothing.
bool is_on_disk(const char *folder);

// From now on; `usual` gives the memory for arrays that stay in memory.
bool put_files_in(const char *folder, const struct array_allocator *usual);

// From now on: so many bytes of large arrays. Returns how many it was before.
size_t allow_in_memory(size_t limit);

#endif
