// Line tables: which file and line each stretch of code came from.
#include "debuginfo/reader.h"

#include <stdlib.h>

void read_lines(struct reader *reader, int32_t number) {
    struct unit *unit = &COLUMN_AT(&reader->units, struct unit, number);
    Dwarf_Lines *lines;
    size_t count;
    if (dwarf_getsrclines(&unit->die, &lines, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        Dwarf_Addr address;
        bool ends;
        if (dwarf_lineaddr(line, &address) || dwarf_lineendsequence(line, &ends))
            continue;
        // The end of a sequence is the first address after it, which may be after the section too.
        if (ends ? !address || !reader_is_code(reader, address - 1, address)
                 : !reader_is_code(reader, address, address + 1))
            continue;
        Dwarf_Files *files;
        size_t file;
        int source_line = 0;
        struct line_row row = {address, -1, 0, (uint32_t)reader->rows.count};
        if (!ends && !dwarf_line_file(line, &files, &file) && !dwarf_lineno(line, &source_line)) {
            row.file = unit_file(reader, unit, file);
            row.line = row.file < 0 || source_line < 0 ? 0 : source_line;
        }
        *(struct line_row *)column_add(&reader->rows) = row;
    }
}

static int compare_rows(const void *left, const void *right) {
    const struct line_row *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    // Where one sequence ends another may start.
    if ((a->file < 0) != (b->file < 0))
        return a->file < 0 ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

// Sorted by address; of several rows for one address the last holds, and rows that say nothing new go.
void sort_lines(struct reader *reader) {
    struct line_row *rows = (struct line_row *)reader->rows.items;
    qsort(rows, reader->rows.count, sizeof *rows, compare_rows);
    size_t kept = 0;
    for (size_t i = 0; i < reader->rows.count; i++) {
        if (i + 1 < reader->rows.count && rows[i + 1].address == rows[i].address)
            continue;
        if (!kept || rows[kept - 1].file != rows[i].file || rows[kept - 1].line != rows[i].line)
            rows[kept++] = rows[i];
    }
    reader->rows.count = kept;
}
