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

static int compile_mapped(struct elf_file *file, struct row_buffer *rows) {
    struct unwind_image image;
    unsigned count;
    if (file->size < sizeof(Elf64_Ehdr))
        return ENOEXEC;
    const Elf64_Phdr *headers = program_headers(file, &count);
    uint64_t lowest = UINT64_MAX;
    for (unsigned i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_offset < lowest) {
            lowest = headers[i].p_offset;
            file->start = headers[i].p_vaddr - headers[i].p_offset;
        }
    if (!unwind_image_find(read_as_loaded, file, file->start, &image))
        return ENOEXEC;
    for (unsigned i = 0; i < count; i++) {
        uint64_t offset = headers[i].p_offset + (image.eh_frame - headers[i].p_vaddr);
        if (headers[i].p_type != PT_LOAD || image.eh_frame - headers[i].p_vaddr >= headers[i].p_filesz ||
            offset > file->size || file->size - offset < image.eh_frame_size)
            continue;
        struct eh_frame section = {file->bytes + offset, (size_t)image.eh_frame_size, image.eh_frame, image.entry};
        return unwind_compile(section, rows) ? 0 : ENOMEM;
    }
    return 0;
}

int compile_elf_file(const char *path, struct row_buffer *rows) {
    struct elf_file file = {0};
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = fstat(fd, &status) == 0 ? 0 : errno;
    if (!error && (!S_ISREG(status.st_mode) || status.st_size == 0))
        error = ENOEXEC;
    if (!error) {
        file.size = (size_t)status.st_size;
        void *mapped = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
        error = mapped == MAP_FAILED ? errno : 0;
        if (!error) {
            file.bytes = mapped;
            error = compile_mapped(&file, rows);
            munmap(mapped, file.size);
        }
    }
    close(fd);
    return error;
}
