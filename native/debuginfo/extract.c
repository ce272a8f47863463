#define _GNU_SOURCE
#include "debuginfo/extract.h"

#include "debuginfo/binary_file.h"
#include "debuginfo/columns_file.h"
#include "debuginfo/isolate.h"

#include <stdlib.h>

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

static void write_columns(const struct reader *reader, int output) {
    struct columns_file file;
    columns_file_start(&file, output);
    int32_t summary[] = {reader->has_dwarf, (int32_t)reader->missing_split_units};
    write_bytes(&file, "summary", (const char *)summary, sizeof summary);
    write_texts(&file, "name.bytes", "name.offsets", &reader->names);
    write_texts(&file, "file.bytes", "file.offsets", &reader->files);
    WRITE_FIELD(&file, "function.name", &reader->functions, function, name);
    WRITE_FIELD(&file, "function.file", &reader->functions, function, file);
    WRITE_FIELD(&file, "function.line", &reader->functions, function, line);
    WRITE_FIELD(&file, "function.object", &reader->functions, function, object);
    WRITE_FIELD(&file, "function.mangled", &reader->functions, function, mangled);
    WRITE_FIELD(&file, "function.noreturn", &reader->functions, function, noreturn);
    WRITE_FIELD(&file, "scope.parent", &reader->scopes, scope, parent);
    WRITE_FIELD(&file, "scope.function", &reader->scopes, scope, function);
    WRITE_FIELD(&file, "scope.call_file", &reader->scopes, scope, call_file);
    WRITE_FIELD(&file, "scope.call_line", &reader->scopes, scope, call_line);
    WRITE_FIELD(&file, "scope.kind", &reader->scopes, scope, kind);
    WRITE_FIELD(&file, "scope.entry", &reader->scopes, scope, entry);
    WRITE_FIELD(&file, "segment.start", &reader->segments, segment, start);
    WRITE_FIELD(&file, "segment.scope", &reader->segments, segment, owner);
    WRITE_FIELD(&file, "row.address", &reader->rows, line_row, address);
    WRITE_FIELD(&file, "row.file", &reader->rows, line_row, file);
    WRITE_FIELD(&file, "row.line", &reader->rows, line_row, line);
    // Out-of-line code only: what basic blocks are looked for in.
    struct column bodies = COLUMN(struct range);
    for (size_t i = 0; i < reader->ranges.count; i++) {
        const struct range *range = &COLUMN_AT(&reader->ranges, struct range, i);
        if (COLUMN_AT(&reader->scopes, struct scope, range->owner).parent < 0)
            *(struct range *)column_add(&bodies) = *range;
    }
    WRITE_FIELD(&file, "body.low", &bodies, range, low);
    WRITE_FIELD(&file, "body.high", &bodies, range, high);
    WRITE_FIELD(&file, "body.scope", &bodies, range, owner);
    columns_file_finish(&file);
}

bool extract(void *argument, int output) {
    const struct extract_request *request = argument;
    struct reader reader;
    struct binary_file binary;
    if (!open_binary(request, &reader, &binary))
        return false;
    GElf_Addr bias;
    Dwarf *dwarf = request->symbols_only ? NULL : dwfl_module_getdwarf(binary.module, &bias);
    if (dwarf) {
        walk_dwarf(&reader, dwarf);
        resolve_functions(&reader);
        sort_lines(&reader);
        reader.has_dwarf = reader.scopes.count > 0;
    }
    read_symbols(&reader, binary.module);
    drop_nameless(&reader);
    flatten((struct range *)reader.ranges.items, reader.ranges.count, &reader.segments);
    write_columns(&reader, output);
    return true;
}
