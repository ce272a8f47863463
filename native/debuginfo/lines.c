// Line tables: which file and line each stretch of code came from.
#include "debuginfo/reader.h"

#include <stdlib.h>

enum { RANGES_MAX = 1000000 };

static int compare_ranges(const void *left, const void *right) {
    const struct range *a = left, *b = right;
    return a->low < b->low ? -1 : a->low > b->low;
}

// The addresses that the unit claims, or else those of its functions. Compilers leave rows of no length at the end of
// a sequence, which libdw's sorting makes look like the start of another: such rows lie outside.
static struct column unit_ranges(const struct reader *reader, Dwarf_Die *unit, size_t first_range) {
    struct column ranges = COLUMN(struct range);
    Dwarf_Addr base, low, high;
    ptrdiff_t offset = 0;
    for (int i = 0; i < RANGES_MAX && (offset = dwarf_ranges(unit, offset, &base, &low, &high)) > 0; i++) {
        if (low < high)
            *(struct range *)column_add(&ranges) = (struct range){.low = low, .high = high};
    }
    bool claims_none = !ranges.count;
    for (size_t i = first_range; claims_none && i < reader->ranges.count; i++) {
        const struct range *range = &COLUMN_AT(&reader->ranges, struct range, i);
        if (range->rank == 1)
            *(struct range *)column_add(&ranges) = *range;
    }
    if (ranges.count)
        qsort(ranges.items, ranges.count, sizeof(struct range), compare_ranges);
    return ranges;
}

static struct line_row read_row(struct reader *reader, struct unit *unit, Dwarf_Line *line, uint64_t address) {
    struct line_row row = {address, -1, 0, (uint32_t)reader->rows.count};
    Dwarf_Files *files;
    size_t file;
    int number = 0;
    if (!dwarf_line_file(line, &files, &file) && !dwarf_lineno(line, &number)) {
        row.file = unit_file(reader, unit, file);
        row.line = row.file < 0 || number < 0 ? 0 : number;
    }
    return row;
}

void read_lines(struct reader *reader, int32_t number, size_t first_range) {
    struct unit *unit = &COLUMN_AT(&reader->units, struct unit, number);
    Dwarf_Lines *lines;
    size_t count;
    if (dwarf_getsrclines(&unit->die, &lines, &count))
        return;
    struct column ranges = unit_ranges(reader, &unit->die, first_range);
    size_t range = 0;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        Dwarf_Addr address;
        bool ends;
        if (dwarf_lineaddr(line, &address) || dwarf_lineendsequence(line, &ends))
            continue;
        if (ends) {
            // The first address after the sequence, which may be the first after the section too.
            if (address && reader_is_code(reader, address - 1, address))
                *(struct line_row *)column_add(&reader->rows) =
                    (struct line_row){address, -1, 0, (uint32_t)reader->rows.count};
            continue;
        }
        while (range < ranges.count && COLUMN_AT(&ranges, struct range, range).high <= address)
            range++;
        bool claimed = range < ranges.count && COLUMN_AT(&ranges, struct range, range).low <= address;
        if ((claimed || !ranges.count) && reader_is_code(reader, address, address + 1)) {
            struct line_row row = read_row(reader, unit, line, address);
            *(struct line_row *)column_add(&reader->rows) = row;
        }
    }
    free(ranges.items);
}

int compare_line_rows(const void *left, const void *right) {
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
    qsort(rows, reader->rows.count, sizeof *rows, compare_line_rows);
    size_t kept = 0;
    for (size_t i = 0; i < reader->rows.count; i++) {
        if (i + 1 < reader->rows.count && rows[i + 1].address == rows[i].address)
            continue;
        if (!kept || rows[kept - 1].file != rows[i].file || rows[kept - 1].line != rows[i].line)
            rows[kept++] = rows[i];
    }
    reader->rows.count = kept;
}
