#define _GNU_SOURCE
#include "debuginfo/extract.h"

#include "debuginfo/isolate.h"
#include "debuginfo/reader.h"

#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

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

// Scopes that nobody could name go; what they held moves up to their parents.
static void drop_nameless(struct reader *reader) {
    size_t count = reader->scopes.count, kept = 0;
    int32_t *moved = calloc(count + 1, sizeof *moved);
    if (!moved)
        isolate_give_up();
    struct scope *scopes = (struct scope *)reader->scopes.items;
    for (size_t i = 0; i < count; i++) {
        int32_t parent = scopes[i].parent < 0 ? -1 : moved[scopes[i].parent];
        if (scopes[i].function < 0) {
            moved[i] = parent;
            continue;
        }
        moved[i] = (int32_t)kept;
        scopes[kept] = scopes[i];
        scopes[kept++].parent = parent;
    }
    reader->scopes.count = kept;
    size_t ranges_kept = 0;
    struct range *ranges = (struct range *)reader->ranges.items;
    for (size_t i = 0; i < reader->ranges.count; i++) {
        struct range range = ranges[i];
        range.owner = moved[range.owner];
        if (range.owner >= 0)
            ranges[ranges_kept++] = range;
    }
    reader->ranges.count = ranges_kept;
    free(moved);
}

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

struct writer {
    int output;
    uint64_t end;
    struct extract_header header;
};

static void write_bytes(struct writer *writer, const char *name, const char *bytes, size_t size) {
    struct extract_column *column = &writer->header.columns[writer->header.column_count++];
    strncpy(column->name, name, EXTRACT_NAME_BYTES - 1);
    column->offset = writer->end;
    column->bytes = size;
    write_all(writer->output, bytes, size, writer->end);
    writer->end = (writer->end + size + 63) & ~63ull;
}

static void write_field(struct writer *writer, const char *name, const struct column *items, size_t offset,
                        size_t bytes) {
    char *field = malloc(items->count * bytes + 1);
    if (!field)
        isolate_give_up();
    for (size_t i = 0; i < items->count; i++)
        memcpy(field + i * bytes, items->items + i * items->item_bytes + offset, bytes);
    write_bytes(writer, name, field, items->count * bytes);
    free(field);
}

#define WRITE_FIELD(writer, name, items, type, field)                                                                  \
    write_field(writer, name, items, offsetof(struct type, field), sizeof(((struct type *)0)->field))

static void write_texts(struct writer *writer, const char *bytes_name, const char *ends_name,
                        const struct texts *texts) {
    write_bytes(writer, bytes_name, texts->bytes.items, texts->bytes.count);
    write_bytes(writer, ends_name, texts->offsets.items, texts->offsets.count * sizeof(uint64_t));
}

static void write_columns(const struct reader *reader, int output) {
    struct writer writer = {.output = output, .end = (sizeof(struct extract_header) + 63) & ~63ull};
    int32_t summary[] = {reader->has_dwarf, (int32_t)reader->missing_split_units};
    write_bytes(&writer, "summary", (const char *)summary, sizeof summary);
    write_texts(&writer, "name.bytes", "name.offsets", &reader->names);
    write_texts(&writer, "file.bytes", "file.offsets", &reader->files);
    WRITE_FIELD(&writer, "function.name", &reader->functions, function, name);
    WRITE_FIELD(&writer, "function.file", &reader->functions, function, file);
    WRITE_FIELD(&writer, "function.line", &reader->functions, function, line);
    WRITE_FIELD(&writer, "function.object", &reader->functions, function, object);
    WRITE_FIELD(&writer, "function.mangled", &reader->functions, function, mangled);
    WRITE_FIELD(&writer, "function.noreturn", &reader->functions, function, noreturn);
    WRITE_FIELD(&writer, "scope.parent", &reader->scopes, scope, parent);
    WRITE_FIELD(&writer, "scope.function", &reader->scopes, scope, function);
    WRITE_FIELD(&writer, "scope.call_file", &reader->scopes, scope, call_file);
    WRITE_FIELD(&writer, "scope.call_line", &reader->scopes, scope, call_line);
    WRITE_FIELD(&writer, "scope.kind", &reader->scopes, scope, kind);
    WRITE_FIELD(&writer, "scope.entry", &reader->scopes, scope, entry);
    WRITE_FIELD(&writer, "segment.start", &reader->segments, segment, start);
    WRITE_FIELD(&writer, "segment.scope", &reader->segments, segment, owner);
    WRITE_FIELD(&writer, "row.address", &reader->rows, line_row, address);
    WRITE_FIELD(&writer, "row.file", &reader->rows, line_row, file);
    WRITE_FIELD(&writer, "row.line", &reader->rows, line_row, line);
    // Out-of-line code only: what basic blocks are looked for in.
    struct column bodies = COLUMN(struct range);
    for (size_t i = 0; i < reader->ranges.count; i++) {
        const struct range *range = &COLUMN_AT(&reader->ranges, struct range, i);
        if (COLUMN_AT(&reader->scopes, struct scope, range->owner).parent < 0)
            *(struct range *)column_add(&bodies) = *range;
    }
    WRITE_FIELD(&writer, "body.low", &bodies, range, low);
    WRITE_FIELD(&writer, "body.high", &bodies, range, high);
    WRITE_FIELD(&writer, "body.scope", &bodies, range, owner);
    writer.header.magic = EXTRACT_MAGIC;
    write_all(output, (const char *)&writer.header, sizeof writer.header, 0);
}

bool extract(void *argument, int output) {
    const struct extract_request *request = argument;
    char *folders = strdup(request->debug_folders);
    const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                      .find_debuginfo = dwfl_standard_find_debuginfo,
                                      .section_address = dwfl_offline_section_address,
                                      .debuginfo_path = &folders};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (!folders || !dwfl)
        return false;
    Dwfl_Module *module =
        strcmp(request->path, "[vdso]") ? dwfl_report_offline(dwfl, "", request->path, -1) : report_vdso(dwfl);
    dwfl_report_end(dwfl, NULL, NULL);
    GElf_Addr bias;
    GElf_Ehdr header;
    Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
    if (!elf || !gelf_getehdr(elf, &header) || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        return false;
    struct reader reader;
    reader_start(&reader);
    find_executable(&reader, elf);
    Dwarf *dwarf = request->symbols_only ? NULL : dwfl_module_getdwarf(module, &bias);
    if (dwarf) {
        walk_dwarf(&reader, dwarf);
        resolve_functions(&reader);
        sort_lines(&reader);
        reader.has_dwarf = reader.scopes.count > 0;
    }
    read_symbols(&reader, module);
    drop_nameless(&reader);
    flatten((struct range *)reader.ranges.items, reader.ranges.count, &reader.segments);
    write_columns(&reader, output);
    return true;
}
