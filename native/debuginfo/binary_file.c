#define _GNU_SOURCE
#include "debuginfo/binary_file.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

void reader_start(struct reader *reader) {
    *reader = (struct reader){.units = COLUMN(struct unit),
                              .prefixes = COLUMN(struct prefix),
                              .nodes = COLUMN(struct node),
                              .functions = COLUMN(struct function),
                              .scopes = COLUMN(struct scope),
                              .ranges = COLUMN(struct range),
                              .rows = COLUMN(struct line_row),
                              .segments = COLUMN(struct segment),
                              .executable = COLUMN(struct range)};
    texts_start(&reader->names);
    texts_start(&reader->files);
}

// Linkers leave the functions they dropped in the debug information, at addresses where no code is.
bool reader_is_code(const struct reader *reader, uint64_t low, uint64_t high) {
    for (size_t i = 0; i < reader->executable.count; i++) {
        const struct range *section = &COLUMN_AT(&reader->executable, struct range, i);
        if (section->low <= low && high <= section->high && low <= high)
            return true;
    }
    return false;
}

static void add_executable(struct reader *reader, uint64_t low, uint64_t size) {
    if (size && low + size > low)
        *(struct range *)column_add(&reader->executable) = (struct range){.low = low, .high = low + size};
}

static void find_executable(struct reader *reader, Elf *elf) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_ALLOC) && (header.sh_flags & SHF_EXECINSTR))
            add_executable(reader, header.sh_addr, header.sh_size);
    }
    if (reader->executable.count)
        return;
    size_t count = 0;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD && (header.p_flags & PF_X))
            add_executable(reader, header.p_vaddr, header.p_memsz);
    }
}

static Dwfl_Module *report_vdso(Dwfl *dwfl) {
    const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
    if (!image)
        return NULL;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    char *copy = malloc(size);
    return copy ? dwfl_report_offline_memory(dwfl, "[vdso]", "[vdso]", memcpy(copy, image, size), size) : NULL;
}

bool open_binary(const struct extract_request *request, struct reader *reader, struct binary_file *binary) {
    // libdwfl keeps both as long as the module is open: as long as this process lives.
    static char *folders;
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address,
                                             .debuginfo_path = &folders};
    folders = strdup(request->debug_folders);
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (!folders || !dwfl)
        return false;
    binary->module =
        strcmp(request->path, "[vdso]") ? dwfl_report_offline(dwfl, "", request->path, -1) : report_vdso(dwfl);
    dwfl_report_end(dwfl, NULL, NULL);
    GElf_Addr bias;
    GElf_Ehdr header;
    binary->elf = binary->module ? dwfl_module_getelf(binary->module, &bias) : NULL;
    if (!binary->elf || !gelf_getehdr(binary->elf, &header) || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        return false;
    binary->elf_machine = header.e_machine;
    reader_start(reader);
    find_executable(reader, binary->elf);
    return true;
}
