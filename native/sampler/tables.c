#include "sampler/tables.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sampler/raw.h"
#include "sampler/sampler.h"
#include "unwind/table_file.h"

// Tables once found stay mapped: a library that is unloaded and loaded again finds its own.
enum { MAX_TABLES = 2048 };
static struct known_table {
    uint64_t eh_frame_size, eh_frame_hash;
    struct unwind_table table;
} known_tables[MAX_TABLES];
static uint32_t known_count;

static void *allocate(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool grow(struct row_buffer *buffer) {
    size_t old = buffer->capacity * sizeof *buffer->rows;
    size_t bytes = old ? old * 2 : 1 << 20;
    void *rows = old ? mremap(buffer->rows, old, bytes, MREMAP_MAYMOVE) : allocate(bytes);
    if (!rows || rows == MAP_FAILED)
        return false;
    buffer->rows = rows;
    buffer->capacity = (uint32_t)(bytes / sizeof *buffer->rows);
    return true;
}

// "<folder>/<build-id><suffix>"; false when the module has none or the folder's name is too long.
static bool table_path(const struct unwind_image *image, const char *suffix, char *path, size_t size) {
    static const char digits[] = "0123456789abcdef";
    const char *folder = this_process.session->tables;
    size_t length = strnlen(folder, size), suffix_length = strlen(suffix);
    if (!image->build_id_size || !length || length + 2 + 2 * image->build_id_size + suffix_length >= size)
        return false;
    memcpy(path, folder, length);
    path[length++] = '/';
    for (uint32_t i = 0; i < image->build_id_size; i++) {
        path[length++] = digits[image->build_id[i] >> 4];
        path[length++] = digits[image->build_id[i] & 15];
    }
    memcpy(path + length, suffix, suffix_length + 1);
    return true;
}

// Maps a whole file; NULL when it cannot be had.
static const void *map_file(const char *path, size_t *size) {
    int fd = raw_open(path, O_RDONLY, 0);
    if (fd < 0)
        return NULL;
    struct stat status;
    void *file = MAP_FAILED;
    if (fstat(fd, &status) == 0 && status.st_size > 0)
        file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    raw_close(fd);
    *size = (size_t)status.st_size;
    return file == MAP_FAILED ? NULL : file;
}

static bool open_table(const char *path, uint64_t eh_frame_size, uint64_t eh_frame_hash, struct unwind_table *table) {
    size_t size;
    const void *file = map_file(path, &size);
    if (!file)
        return false;
    if (unwind_table_file_open(file, size, eh_frame_size, eh_frame_hash, table))
        return true;
    munmap((void *)file, size);
    return false;
}

// A write beyond the limit raises SIGXFSZ.
static bool exceeds_file_size_limit(size_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || size > limit.rlim_cur;
}

// Best effort: a folder that cannot be written costs the next process the same work, nothing else.
static void save_table(const struct unwind_image *image, const char *path, const void *file, size_t size) {
    static char temporary[WHYPERF_PATH_MAX];
    char suffix[32] = ".";
    char *digit = suffix + sizeof suffix - 1;
    for (uint64_t n = (uint64_t)this_process.pid; n || !*digit; n /= 10)
        *--digit = (char)('0' + n % 10);
    *--digit = '.';
    if (exceeds_file_size_limit(size) || !table_path(image, digit, temporary, sizeof temporary))
        return;
    int fd = raw_open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return;
    bool whole = raw_write(fd, file, size) == (long)size;
    raw_close(fd);
    if (!whole || syscall(SYS_renameat, AT_FDCWD, temporary, AT_FDCWD, path))
        syscall(SYS_unlinkat, AT_FDCWD, temporary, 0);
}

static bool make_table(const struct unwind_image *image, const uint8_t *bytes, uint64_t hash, const char *path,
                       struct unwind_table *table) {
    struct eh_frame section = {bytes, image->eh_frame_size, image->eh_frame, image->entry};
    struct row_buffer buffer = {.grow = grow};
    bool made = false;
    if (unwind_compile(section, &buffer) && buffer.count) {
        size_t size = unwind_table_file_size(buffer.rows, buffer.count);
        void *file = allocate(size);
        if (file) {
            unwind_table_file_fill(file, buffer.rows, buffer.count, section);
            made = unwind_table_file_open(file, size, image->eh_frame_size, hash, table);
            if (made && path)
                save_table(image, path, file, size);
        }
    }
    if (buffer.rows)
        munmap(buffer.rows, buffer.capacity * sizeof *buffer.rows);
    return made;
}

void tables_find_in_signal(const struct unwind_image *image, unwind_image_read_fn read, struct unwind_table *table) {
    static uint8_t start[UNWIND_HASHED_BYTES];
    static char path[WHYPERF_PATH_MAX];
    if (!image->eh_frame || !image->eh_frame_size)
        return;
    size_t hashed = image->eh_frame_size < sizeof start ? image->eh_frame_size : sizeof start;
    if (!read(NULL, image->eh_frame + image->bias, start, hashed))
        return;
    uint64_t hash = unwind_hash(start, hashed);
    for (uint32_t i = 0; i < known_count; i++) {
        if (known_tables[i].eh_frame_size == image->eh_frame_size && known_tables[i].eh_frame_hash == hash) {
            *table = known_tables[i].table;
            return;
        }
    }
    bool named = table_path(image, ".rows", path, sizeof path);
    bool found = named && open_table(path, image->eh_frame_size, hash, table);
    if (!found) {
        uint8_t *copy = allocate(image->eh_frame_size);
        if (copy && read(NULL, image->eh_frame + image->bias, copy, image->eh_frame_size))
            found = make_table(image, copy, hash, named ? path : NULL, table);
        if (copy)
            munmap(copy, image->eh_frame_size);
    }
    if (found && known_count < MAX_TABLES)
        known_tables[known_count++] =
            (struct known_table){.eh_frame_size = image->eh_frame_size, .eh_frame_hash = hash, .table = *table};
}

// Variables tables stay mapped as well, and are told apart by build-id.
static struct known_variables {
    uint32_t build_id_size;
    uint8_t build_id[UNWIND_BUILD_ID_MAX];
    struct values_table table;
} known_variables[MAX_TABLES];
static uint32_t known_variables_count;

const struct values_table *tables_find_variables_in_signal(const struct unwind_image *image) {
    static char path[WHYPERF_PATH_MAX];
    for (uint32_t i = 0; i < known_variables_count; i++) {
        struct known_variables *known = &known_variables[i];
        if (known->build_id_size == image->build_id_size &&
            memcmp(known->build_id, image->build_id, image->build_id_size) == 0)
            return &known->table;
    }
    size_t size;
    if (known_variables_count == MAX_TABLES || !table_path(image, ".vars", path, sizeof path))
        return NULL;
    const void *file = map_file(path, &size);
    if (!file)
        return NULL;
    struct known_variables *made = &known_variables[known_variables_count];
    if (!values_table_map(file, size, &made->table)) {
        munmap((void *)file, size);
        return NULL;
    }
    made->build_id_size = image->build_id_size;
    memcpy(made->build_id, image->build_id, sizeof made->build_id);
    known_variables_count++;
    return &made->table;
}
