// From overlapping stretches to disjoint segments, each with the list of what can be read in it; and the file's image.
#define _GNU_SOURCE
#include "debuginfo/isolate.h"
#include "debuginfo/variables.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 256 };

static int by_start(const void *left, const void *right) {
    const struct live *a = left, *b = right;
    return a->low != b->low ? (a->low < b->low ? -1 : 1) : a->number < b->number ? -1 : a->number > b->number;
}

static int innermost_first(const void *left, const void *right) {
    const struct live *a = left, *b = right;
    return a->number > b->number ? -1 : a->number < b->number;
}

struct sweep {
    struct variables *variables;
    const bool *dropped;
    struct column open;  // struct live, innermost first
    uint32_t *listed_in; // by variable: the last list that has it
    uint32_t list_number;
};

static int32_t list_of(struct sweep *sweep, uint32_t *count) {
    uint32_t list[LIST_MAX];
    const struct values_location *locations = (const struct values_location *)sweep->variables->locations.bytes.items;
    *count = 0;
    sweep->list_number++;
    for (size_t i = 0; i < sweep->open.count && *count < LIST_MAX; i++) {
        uint32_t location = COLUMN_AT(&sweep->open, struct live, i).location;
        uint32_t variable = locations[location].variable;
        // Where a function is inlined into itself, the inner copy's variable is the one to read.
        if (sweep->dropped[location] || sweep->listed_in[variable] == sweep->list_number)
            continue;
        sweep->listed_in[variable] = sweep->list_number;
        list[(*count)++] = location;
    }
    return texts_intern(&sweep->variables->lists, (const char *)list, *count * sizeof *list);
}

static void add_segment(struct sweep *sweep, uint32_t address) {
    struct column *segments = &sweep->variables->segments;
    struct values_segment segment = {.address = address};
    int32_t list = list_of(sweep, &segment.count);
    segment.first = (uint32_t)(COLUMN_AT(&sweep->variables->lists.offsets, uint64_t, list) / sizeof(uint32_t));
    struct values_segment *last =
        segments->count ? &COLUMN_AT(segments, struct values_segment, segments->count - 1) : NULL;
    if (last ? last->first == segment.first && last->count == segment.count : !segment.count)
        return;
    *(struct values_segment *)column_add(segments) = segment;
}

static void close_until(struct sweep *sweep, uint32_t until) {
    while (sweep->open.count) {
        uint32_t end = UINT32_MAX;
        struct live *open = (struct live *)sweep->open.items;
        for (size_t i = 0; i < sweep->open.count; i++)
            end = open[i].high < end ? open[i].high : end;
        if (end > until)
            return;
        size_t kept = 0;
        for (size_t i = 0; i < sweep->open.count; i++)
            if (open[i].high > end)
                open[kept++] = open[i];
        sweep->open.count = kept;
        if (end < until) // else whoever opens there adds it
            add_segment(sweep, end);
    }
}

void make_segments(struct variables *variables, const bool *dropped) {
    struct live *lives = (struct live *)variables->lives.items;
    size_t count = variables->lives.count;
    if (count)
        qsort(lives, count, sizeof *lives, by_start);
    struct sweep sweep = {.variables = variables, .dropped = dropped, .open = COLUMN(struct live)};
    sweep.listed_in = calloc(variables->rows.count + 1, sizeof *sweep.listed_in);
    if (!sweep.listed_in)
        isolate_give_up();
    for (size_t i = 0; i < count;) {
        uint32_t low = lives[i].low;
        close_until(&sweep, low);
        for (; i < count && lives[i].low == low; i++)
            *(struct live *)column_add(&sweep.open) = lives[i];
        qsort(sweep.open.items, sweep.open.count, sizeof(struct live), innermost_first);
        add_segment(&sweep, low);
    }
    close_until(&sweep, UINT32_MAX);
    free(sweep.listed_in);
    free(sweep.open.items);
}

uint64_t table_hash(const void *bytes, size_t size) {
    const uint8_t *byte = bytes;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3ull;
    return hash;
}

static struct column make_index(const struct column *segments, uint32_t *base) {
    struct column index = COLUMN(uint32_t);
    *base = 0;
    if (!segments->count)
        return index;
    const struct values_segment *all = (const struct values_segment *)segments->items;
    uint32_t last = all[segments->count - 1].address >> VALUES_INDEX_SHIFT, at = 0;
    *base = all[0].address >> VALUES_INDEX_SHIFT;
    for (uint32_t page = *base; page <= last; page++) {
        while (at + 1 < segments->count && all[at + 1].address <= (uint64_t)page << VALUES_INDEX_SHIFT)
            at++;
        *(uint32_t *)column_add(&index) = at;
    }
    return index;
}

static int by_address(const void *left, const void *right, void *locations) {
    const struct values_location *all = locations;
    const struct values_location *a = &all[*(const uint32_t *)left], *b = &all[*(const uint32_t *)right];
    return a->address != b->address ? (a->address < b->address ? -1 : 1) : (int)a->size - (int)b->size;
}

// Neighbours in memory are neighbours in the list, so that they can be read together.
static void sort_globals(struct variables *variables) {
    if (variables->globals.count)
        qsort_r(variables->globals.items, variables->globals.count, sizeof(uint32_t), by_address,
                variables->locations.bytes.items);
}

struct section {
    const char *bytes;
    size_t size;
};

static struct section column_section(const struct column *column) {
    return (struct section){column->items, column->count * column->item_bytes};
}

char *table_image(struct variables *variables, size_t *size) {
    struct values_table_file header = {.magic = VALUES_TABLE_MAGIC};
    struct column index = make_index(&variables->segments, &header.index_base);
    sort_globals(variables);
    struct section sections[] = {
        column_section(&variables->segments),          column_section(&index),
        column_section(&variables->lists.bytes),       column_section(&variables->locations.bytes),
        column_section(&variables->fields.bytes),      column_section(&variables->globals),
        column_section(&variables->call_sites),        column_section(&variables->call_parameters),
        column_section(&variables->expressions.bytes), column_section(&variables->plans.bytes),
    };
    header.segment_count = (uint32_t)variables->segments.count;
    header.index_count = (uint32_t)index.count;
    header.list_count = (uint32_t)(variables->lists.bytes.count / sizeof(uint32_t));
    header.location_count = (uint32_t)(variables->locations.bytes.count / sizeof(struct values_location));
    header.field_count = (uint32_t)(variables->fields.bytes.count / sizeof(struct values_field));
    header.global_count = (uint32_t)variables->globals.count;
    header.call_site_count = (uint32_t)variables->call_sites.count;
    header.call_parameter_count = (uint32_t)variables->call_parameters.count;
    header.expression_bytes = (uint32_t)variables->expressions.bytes.count;
    header.plan_words = (uint32_t)(variables->plans.bytes.count / sizeof(uint64_t));
    header.variable_count = (uint32_t)variables->rows.count;
    *size = sizeof header;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        *size += (sections[i].size + 7) & ~(size_t)7;
    char *image = calloc(1, *size);
    if (!image)
        isolate_give_up();
    char *out = image + sizeof header;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (sections[i].size)
            memcpy(out, sections[i].bytes, sections[i].size);
        out += (sections[i].size + 7) & ~(size_t)7;
    }
    header.hash = table_hash(image + sizeof header, *size - sizeof header);
    memcpy(image, &header, sizeof header);
    free(index.items);
    return image;
}
