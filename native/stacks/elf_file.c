#include "stacks/elf_file.h"
#include "unwind/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct elf_file {
    const uint8_t *bytes;
    size_t size;
    uint64_t start; // ELF virtual address of the ELF header
};

static const Elf64_Phdr *program_headers(const struct elf_file *file, unsigned *count) {
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)file->bytes;
    *count = elf->e_phnum;
    if (elf->e_phoff % 8 || elf->e_phoff > file->size ||
        (file->size - elf->e_phoff) / sizeof(Elf64_Phdr) < elf->e_phnum)
        *count = 0;
    return (const Elf64_Phdr *)(file->bytes + (*count ? elf->e_phoff : 0));
}

static bool read_range(const struct elf_file *file, uint64_t offset, void *bytes, size_t size) {
    if (offset > file->size || file->size - offset < size)
        return false;
    memcpy(bytes, file->bytes + offset, size);
    return true;
}

// The file as it would lie in memory without bias: an unwind_image_read_fn.
static bool read_as_loaded(void *context, uint64_t address, void *bytes, size_t size) {
    const struct elf_file *file = context;
    unsigned count;
    const Elf64_Phdr *headers = program_headers(file, &count);
    for (unsigned i = 0; i < count; i++) {
        uint64_t distance = address - headers[i].p_vaddr;
        if (headers[i].p_type == PT_LOAD && distance < headers[i].p_filesz && headers[i].p_filesz - distance >= size)
            return read_range(file, headers[i].p_offset + distance, bytes, size);
    }
    return read_range(file, address - file->start, bytes, size);
}

// Maps the file and finds what unwinding needs in it. 0 or an errno; on success the caller unmaps it.
static int open_elf_file(const char *path, struct elf_file *file, struct unwind_image *image) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = fstat(fd, &status) == 0 ? 0 : errno;
    if (!error && (!S_ISREG(status.st_mode) || status.st_size < (off_t)sizeof(Elf64_Ehdr)))
        error = ENOEXEC;
    void *mapped = error ? MAP_FAILED : mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (!error && mapped == MAP_FAILED)
        error = errno;
    close(fd);
    if (error)
        return error;
    *file = (struct elf_file){mapped, (size_t)status.st_size, 0};
    unsigned count;
    const Elf64_Phdr *headers = program_headers(file, &count);
    uint64_t lowest = UINT64_MAX;
    for (unsigned i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_offset < lowest) {
            lowest = headers[i].p_offset;
            file->start = headers[i].p_vaddr - headers[i].p_offset;
        }
    if (unwind_image_find(read_as_loaded, file, file->start, NULL, image))
        return 0;
    munmap(mapped, file->size);
    return ENOEXEC;
}

static int compile_mapped(const struct elf_file *file, const struct unwind_image *image, struct row_buffer *rows) {
    unsigned count;
    const Elf64_Phdr *headers = program_headers(file, &count);
    for (unsigned i = 0; i < count; i++) {
        uint64_t offset = headers[i].p_offset + (image->eh_frame - headers[i].p_vaddr);
        if (headers[i].p_type != PT_LOAD || image->eh_frame - headers[i].p_vaddr >= headers[i].p_filesz ||
            offset > file->size || file->size - offset < image->eh_frame_size)
            continue;
        struct eh_frame section = {file->bytes + offset, (size_t)image->eh_frame_size, image->eh_frame, image->entry};
        return unwind_compile(section, rows) ? 0 : ENOMEM;
    }
    return 0;
}

int compile_elf_file(const char *path, struct row_buffer *rows) {
    struct elf_file file;
    struct unwind_image image;
    int error = open_elf_file(path, &file, &image);
    if (error)
        return error;
    error = compile_mapped(&file, &image, rows);
    munmap((void *)(uintptr_t)file.bytes, file.size);
    return error;
}

const struct module_table *elf_file_table(struct table_store *store, const char *path) {
    struct elf_file file;
    struct unwind_image image;
    errno = open_elf_file(path, &file, &image);
    if (errno)
        return NULL;
    const struct module_table *table = table_store_get(store, read_as_loaded, &file, &image);
    munmap((void *)(uintptr_t)file.bytes, file.size);
    if (!table)
        errno = ENOEXEC;
    return table;
}
