#include "stacks/tables.h"
#include "unwind/table_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool grow_on_heap(struct row_buffer *buffer) {
    if (buffer->capacity > UINT32_MAX / 2)
        return false;
    uint32_t capacity = buffer->capacity ? 2 * buffer->capacity : 4096;
    struct unwind_row *rows = realloc(buffer->rows, capacity * sizeof *rows);
    if (!rows)
        return false;
    buffer->rows = rows;
    buffer->capacity = capacity;
    return true;
}

// Name of the module's table in the folder; false when it has no build-id or the name would be too long.
static bool table_path(const struct table_store *store, const struct module_table *table, const char *suffix,
                       char path[PATH_MAX]) {
    char name[2 * UNWIND_BUILD_ID_MAX + 1];
    if (table->build_id_size == 0)
        return false;
    for (uint32_t i = 0; i < table->build_id_size; i++)
        snprintf(name + 2 * i, 3, "%02x", table->build_id[i]);
    return snprintf(path, PATH_MAX, "%s/%s.rows%s", store->folder, name, suffix) < PATH_MAX;
}

static bool map_file(struct module_table *table, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    struct stat status;
    bool mapped = false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        table->file_size = (size_t)status.st_size;
        table->file = mmap(NULL, table->file_size, PROT_READ, MAP_PRIVATE, fd, 0);
        mapped = table->file != MAP_FAILED;
    }
    close(fd);
    if (!mapped)
        return false;
    if (unwind_table_file_open(table->file, table->file_size, table->eh_frame_size, table->eh_frame_hash, &table->rows))
        return true;
    munmap(table->file, table->file_size);
    return false;
}

// Others may be making the same file: whoever renames last wins, and all of them are whole.
static void write_file(const struct module_table *table, const char *path, const char *scratch) {
    int fd = open(scratch, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    const char *at = table->file;
    size_t left = table->file_size;
    while (left > 0) {
        ssize_t written = write(fd, at, left);
        if (written <= 0)
            break;
        at += written;
        left -= (size_t)written;
    }
    if (close(fd) != 0 || left > 0 || rename(scratch, path) != 0)
        unlink(scratch);
}

static bool compile_table(struct module_table *table, struct eh_frame section) {
    struct row_buffer buffer = {.grow = grow_on_heap};
    bool made = unwind_compile(section, &buffer);
    if (made) {
        table->file_size = unwind_table_file_size(buffer.rows, buffer.count);
        table->file = mmap(NULL, table->file_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        made = table->file != MAP_FAILED;
    }
    if (made) {
        unwind_table_file_fill(table->file, buffer.rows, buffer.count, section);
        made = unwind_table_file_open(table->file, table->file_size, table->eh_frame_size, table->eh_frame_hash,
                                      &table->rows);
    }
    free(buffer.rows);
    return made;
}

static bool make_table(struct module_table *table, unwind_image_read_fn read, void *context,
                       const struct unwind_image *image) {
    enum { SECTION_MAX = 1 << 30 };
    struct eh_frame section = {NULL, (size_t)image->eh_frame_size, image->eh_frame, image->entry};
    if (image->eh_frame_size > SECTION_MAX)
        return false;
    uint8_t *bytes = malloc(section.size ? section.size : 1);
    if (!bytes)
        return false;
    section.bytes = bytes;
    bool made = (section.size == 0 || read(context, image->eh_frame + image->bias, bytes, section.size)) &&
                compile_table(table, section);
    free(bytes);
    return made;
}

// .eh_frame_hdr's search table in the one form that linkers write: pairs of 32-bit offsets from the header itself.
static void load_functions(struct module_table *table, unwind_image_read_fn read, void *context,
                           const struct unwind_image *image) {
    struct {
        uint8_t version, pointer_encoding, count_encoding, table_encoding;
        int32_t eh_frame;
        uint32_t count;
    } header;
    struct {
        int32_t function, fde;
    } *pairs;
    if (image->eh_frame_hdr_size < sizeof header ||
        !read(context, image->eh_frame_hdr + image->bias, &header, sizeof header) || header.version != 1 ||
        header.pointer_encoding != 0x1b || header.count_encoding != 0x03 || header.table_encoding != 0x3b ||
        header.count > (image->eh_frame_hdr_size - sizeof header) / sizeof *pairs)
        return;
    pairs = malloc(header.count * sizeof *pairs + 1);
    uint32_t *functions = malloc(header.count * sizeof *functions + 1);
    if (pairs && functions &&
        read(context, image->eh_frame_hdr + image->bias + sizeof header, pairs, header.count * sizeof *pairs)) {
        for (uint32_t i = 0; i < header.count; i++)
            functions[i] = (uint32_t)(image->eh_frame_hdr + (uint64_t)(int64_t)pairs[i].function);
        table->functions = functions;
        table->function_count = header.count;
        functions = NULL;
    }
    free(pairs);
    free(functions);
}

bool function_start(const struct module_table *table, uint32_t address, uint32_t *start) {
    uint32_t low = 0, high = table->function_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->functions[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    *start = table->functions[low - 1];
    return true;
}

static struct module_table *find_table(struct module_table *table, const struct module_table *like) {
    while (table && (table->eh_frame_size != like->eh_frame_size || table->eh_frame_hash != like->eh_frame_hash ||
                     table->build_id_size != like->build_id_size ||
                     memcmp(table->build_id, like->build_id, like->build_id_size) != 0))
        table = table->next;
    return table;
}

// A table that says the same of every address.
static struct module_table *find_same(struct module_table *table, const struct module_table *made) {
    while ((table = find_table(table, made))) {
        if (table->rows.row_count == made->rows.row_count && table->function_count == made->function_count &&
            memcmp(table->rows.rows, made->rows.rows, made->rows.row_count * sizeof *made->rows.rows) == 0 &&
            (made->function_count == 0 ||
             memcmp(table->functions, made->functions, made->function_count * sizeof *made->functions) == 0))
            return table;
        table = table->next;
    }
    return NULL;
}

static void free_table(struct module_table *table) {
    munmap(table->file, table->file_size);
    free(table->functions);
    free(table);
}

static bool hash_section(unwind_image_read_fn read, void *context, const struct unwind_image *image, uint64_t *hash) {
    uint8_t head[UNWIND_HASHED_BYTES];
    size_t size = image->eh_frame_size < sizeof head ? (size_t)image->eh_frame_size : sizeof head;
    if (size > 0 && !read(context, image->eh_frame + image->bias, head, size))
        return false;
    *hash = unwind_hash(head, size);
    return true;
}

const struct module_table *table_store_get(struct table_store *store, unwind_image_read_fn read, void *context,
                                           const struct unwind_image *image) {
    struct module_table like = {.build_id_size = image->build_id_size, .eh_frame_size = image->eh_frame_size};
    char path[PATH_MAX], scratch[PATH_MAX], suffix[32];
    memcpy(like.build_id, image->build_id, sizeof like.build_id);
    if (!hash_section(read, context, image, &like.eh_frame_hash))
        return NULL;
    // Without a build-id only the whole of their tables tells two modules of the same beginning and size apart.
    struct module_table *found = like.build_id_size ? find_table(store->first, &like) : NULL;
    if (found)
        return found;
    found = malloc(sizeof *found);
    if (!found)
        return NULL;
    *found = like;
    bool named = table_path(store, found, "", path);
    if (!named || !map_file(found, path)) {
        if (!make_table(found, read, context, image)) {
            free(found);
            return NULL;
        }
        snprintf(suffix, sizeof suffix, ".%d.new", (int)getpid());
        if (named && table_path(store, found, suffix, scratch))
            write_file(found, path, scratch);
    }
    load_functions(found, read, context, image);
    struct module_table *same = like.build_id_size ? NULL : find_same(store->first, found);
    if (same) {
        free_table(found);
        return same;
    }
    found->next = store->first;
    store->first = found;
    return found;
}

void table_store_clear(struct table_store *store) {
    while (store->first) {
        struct module_table *table = store->first;
        store->first = table->next;
        free_table(table);
    }
}
