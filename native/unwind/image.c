// Reads ELF headers of a module in memory. Async-signal-safe as long as `read` is; nothing that is read is trusted.
#include "unwind/image.h"
#include "unwind/unwind.h"

#include <elf.h>
#include <string.h>

enum { PROGRAM_HEADERS_MAX = 64, NOTES_MAX = 4096 };

struct module_reader {
    unwind_image_read_fn read;
    void *context;
    uint64_t bias;
};

static bool read_at(const struct module_reader *module, uint64_t address, void *bytes, size_t size) {
    return module->read(module->context, address + module->bias, bytes, size);
}

static uint64_t aligned4(uint64_t size) {
    return (size + 3) & ~(uint64_t)3;
}

static void find_build_id(const struct module_reader *module, const Elf64_Phdr *notes, struct unwind_image *image) {
    uint64_t size = notes->p_filesz < NOTES_MAX ? notes->p_filesz : NOTES_MAX;
    for (uint64_t at = 0; size - at >= sizeof(Elf64_Nhdr) + 4;) {
        struct {
            Elf64_Nhdr header;
            char name[4];
        } note;
        if (!read_at(module, notes->p_vaddr + at, &note, sizeof note))
            return;
        uint64_t description = at + sizeof note.header + aligned4(note.header.n_namesz);
        if (note.header.n_type == NT_GNU_BUILD_ID && note.header.n_namesz == 4 && memcmp(note.name, "GNU", 4) == 0) {
            uint32_t length = note.header.n_descsz < UNWIND_BUILD_ID_MAX ? note.header.n_descsz : UNWIND_BUILD_ID_MAX;
            if (read_at(module, notes->p_vaddr + description, image->build_id, length))
                image->build_id_size = length;
            return;
        }
        at = description + aligned4(note.header.n_descsz);
        if (at > size)
            return;
    }
}

// The header says where the section begins, in one of the encodings that linkers use for it.
static bool find_eh_frame(const struct module_reader *module, const Elf64_Phdr *hdr, uint64_t *eh_frame) {
    enum { PCREL = 0x10, DATAREL = 0x30, DATA4 = 0x03, SDATA4 = 0x0b, DATA8 = 0x04, SDATA8 = 0x0c };
    uint8_t start[4];
    uint32_t narrow;
    uint64_t wide;
    uint64_t place = hdr->p_vaddr + sizeof start;
    if (!read_at(module, hdr->p_vaddr, start, sizeof start) || start[0] != 1)
        return false;
    switch (start[1] & 0x0f) {
    case DATA4:
    case SDATA4:
        if (!read_at(module, place, &narrow, sizeof narrow))
            return false;
        wide = (start[1] & 0x0f) == SDATA4 ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
        break;
    case 0:
    case DATA8:
    case SDATA8:
        if (!read_at(module, place, &wide, sizeof wide))
            return false;
        break;
    default:
        return false;
    }
    switch (start[1] & 0xf0) {
    case 0:
        *eh_frame = wide;
        return true;
    case PCREL:
        *eh_frame = place + wide;
        return true;
    case DATAREL:
        *eh_frame = hdr->p_vaddr + wide;
        return true;
    default:
        return false;
    }
}

// The bytes from `address` to the end of the segment that holds it; 0 if none does.
static uint64_t rest_of_segment(const Elf64_Phdr *headers, unsigned count, uint64_t address) {
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Phdr *header = &headers[i];
        if (header->p_type == PT_LOAD && address >= header->p_vaddr && address - header->p_vaddr < header->p_filesz)
            return header->p_filesz - (address - header->p_vaddr);
    }
    return 0;
}

static const Elf64_Phdr *segment_with_elf_header(const Elf64_Phdr *headers, unsigned count) {
    const Elf64_Phdr *first = NULL;
    for (unsigned i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && (!first || headers[i].p_offset < first->p_offset))
            first = &headers[i];
    return first;
}

// That of all of the module, unless the mapping's part of the file lies elsewhere.
static uint64_t bias_of_code(const Elf64_Phdr *headers, unsigned count, uint64_t usual,
                             const struct unwind_mapping *mapping) {
    enum { PAGE_BYTES = 4096 };
    uint64_t found = usual;
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Phdr *header = &headers[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) ||
            mapping->file_offset < header->p_offset / PAGE_BYTES * PAGE_BYTES ||
            mapping->file_offset >= header->p_offset + header->p_filesz)
            continue;
        uint64_t bias = mapping->start - mapping->file_offset - (header->p_vaddr - header->p_offset);
        if (bias == usual)
            return usual;
        found = bias;
    }
    return found;
}

bool unwind_image_find(unwind_image_read_fn read, void *context, uint64_t start, const struct unwind_mapping *mapping,
                       struct unwind_image *image) {
    struct module_reader module = {read, context, 0};
    Elf64_Ehdr elf;
    Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
    *image = (struct unwind_image){0};
    if (!read(context, start, &elf, sizeof elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB ||
        elf.e_machine != UNWIND_ELF_MACHINE || elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum == 0)
        return false;
    unsigned count = elf.e_phnum < PROGRAM_HEADERS_MAX ? elf.e_phnum : PROGRAM_HEADERS_MAX;
    if (!read(context, start + elf.e_phoff, headers, count * sizeof *headers))
        return false;
    const Elf64_Phdr *first = segment_with_elf_header(headers, count);
    if (!first)
        return false;
    image->entry = elf.e_entry;
    image->bias = module.bias = start - (first->p_vaddr - first->p_offset);
    image->code_bias = mapping ? bias_of_code(headers, count, image->bias, mapping) : image->bias;
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Phdr *header = &headers[i];
        if (header->p_type == PT_NOTE && image->build_id_size == 0)
            find_build_id(&module, header, image);
        if (header->p_type == PT_GNU_EH_FRAME && find_eh_frame(&module, header, &image->eh_frame)) {
            image->eh_frame_hdr = header->p_vaddr;
            image->eh_frame_hdr_size = header->p_filesz;
        }
    }
    image->eh_frame_size = rest_of_segment(headers, count, image->eh_frame);
    if (image->eh_frame_size == 0)
        image->eh_frame = image->eh_frame_hdr = image->eh_frame_hdr_size = 0;
    return true;
}
