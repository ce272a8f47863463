#include "values/open.h"
#include "unwind/unwind.h"

static const struct values_segment nothing;

// Takes `count` items of `item` bytes from the file; NULL when it is too short.
static const void *take(const unsigned char *file, size_t size, size_t *at, uint64_t count, size_t item) {
    *at = (*at + 7) & ~(size_t)7;
    if (*at > size || count > (size - *at) / item)
        return NULL;
    const void *section = file + *at;
    *at += count * item;
    return section;
}

static bool find_sections(const unsigned char *file, size_t size, struct values_table *table) {
    const struct values_table_file *header = (const void *)file;
    size_t at = sizeof *header;
    return (table->segments = take(file, size, &at, header->segment_count, sizeof *table->segments)) &&
           (table->index = take(file, size, &at, header->index_count, sizeof *table->index)) &&
           (table->list = take(file, size, &at, header->list_count, sizeof *table->list)) &&
           (table->locations = take(file, size, &at, header->location_count, sizeof *table->locations)) &&
           (table->fields = take(file, size, &at, header->field_count, sizeof *table->fields)) &&
           (table->globals = take(file, size, &at, header->global_count, sizeof *table->globals)) &&
           (table->call_sites = take(file, size, &at, header->call_site_count, sizeof *table->call_sites)) &&
           (table->call_parameters =
                take(file, size, &at, header->call_parameter_count, sizeof *table->call_parameters)) &&
           (table->expressions = take(file, size, &at, header->expression_bytes, 1)) &&
           (table->plans = take(file, size, &at, header->plan_words, sizeof *table->plans));
}

static bool within(uint64_t first, uint64_t count, uint64_t limit) {
    return first <= limit && count <= limit - first;
}

static bool size_is_sound(uint8_t size) {
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool location_is_sound(const struct values_table_file *header, const struct values_location *location) {
    if (location->kind >= VALUES_KINDS || location->reg >= UNWIND_PC || !size_is_sound(location->size))
        return false;
    if (!within(location->first_field, location->field_count, header->field_count))
        return false;
    if (location->kind != VALUES_EXPRESSION)
        return true;
    return location->offset >= 0 && location->address <= VALUES_EXPRESSION_BYTES &&
           within((uint64_t)location->offset, location->address, header->expression_bytes);
}

// Bits of registers that this machine has.
static bool is_of_machine(uint32_t registers) {
    return (uint64_t)registers >> UNWIND_PC == 0;
}

static bool plan_is_sound(const struct values_table *table, uint32_t at) {
    uint32_t words = table->plan_words;
    if (at >= words)
        return false;
    const struct values_plan *plan = (const void *)&table->plans[at];
    uint32_t items = (uint32_t)plan->slots + plan->others, bytes = 0;
    if (at + sizeof *plan / sizeof *table->plans > words || items > words - at - sizeof *plan / sizeof *table->plans ||
        !(is_of_machine(plan->registers) && is_of_machine(plan->vectors)))
        return false;
    for (uint32_t i = 0; i < items; i++) {
        const struct values_item *item = &values_items(plan)[i];
        bytes += item->length;
        bool is_register = item->base < VALUES_BASE_CFA;
        if (item->base >= (is_register ? (int)UNWIND_PC : (int)VALUES_BASES) || !item->length ||
            item->length > VALUES_ITEM_BYTES_MAX ||
            ((item->flags & VALUES_ITEM_LOADS) && item->length != sizeof(uint64_t)))
            return false;
    }
    return bytes == plan->bytes && bytes <= VALUES_PLAN_BYTES_MAX;
}

static bool contents_are_sound(const struct values_table *table) {
    const struct values_table_file *header = table->header;
    for (uint32_t i = 0; i < header->segment_count; i++) {
        const struct values_segment *segment = &table->segments[i];
        if (!within(segment->first, segment->count, header->list_count) ||
            (i && segment->address < segment[-1].address))
            return false;
    }
    for (uint32_t i = 0; i < header->index_count; i++)
        if (table->index[i] >= header->segment_count)
            return false;
    for (uint32_t i = 0; i < header->list_count; i++)
        if (table->list[i] >= header->location_count)
            return false;
    for (uint32_t i = 0; i < header->location_count; i++)
        if (!location_is_sound(header, &table->locations[i]))
            return false;
    for (uint32_t i = 0; i < header->field_count; i++) {
        const struct values_field *field = &table->fields[i];
        if (!size_is_sound(field->size) || ((field->flags & VALUES_FLAG_SPAN) && field->scale == 0))
            return false;
    }
    for (uint32_t i = 0; i < header->global_count; i++)
        if (table->globals[i] >= header->location_count)
            return false;
    for (uint32_t i = 0; i < header->call_site_count; i++)
        if (!within(table->call_sites[i].first, table->call_sites[i].count, header->call_parameter_count))
            return false;
    for (uint32_t i = 0; i < header->call_parameter_count; i++)
        if (table->call_parameters[i].location >= header->location_count || table->call_parameters[i].reg >= UNWIND_PC)
            return false;
    return true;
}

bool values_table_map(const void *file, size_t size, struct values_table *table) {
    const struct values_table_file *header = file;
    if (size < sizeof *header || header->magic != VALUES_TABLE_MAGIC)
        return false;
    table->header = header;
    if (!find_sections(file, size, table))
        return false;
    table->segment_count = header->segment_count;
    table->index_base = header->index_base;
    table->index_count = header->index_count;
    table->plan_words = header->plan_words;
    table->first_address = header->segment_count ? table->segments[0].address : 0;
    return true;
}

bool values_table_open(const void *file, size_t size, struct values_table *table) {
    return values_table_map(file, size, table) && contents_are_sound(table);
}

static uint64_t bucket_of(const struct values_table *table, uint64_t address) {
    return (address >> VALUES_INDEX_SHIFT) - table->index_base;
}

void values_prefetch_index(const struct values_table *table, uint64_t address) {
    __builtin_prefetch(&table->index[bucket_of(table, address)]);
}

void values_prefetch_segments(const struct values_table *table, uint64_t address) {
    uint64_t bucket = bucket_of(table, address);
    if (bucket < table->index_count)
        __builtin_prefetch(&table->segments[table->index[bucket]]);
}

const struct values_segment *values_find(const struct values_table *table, uint64_t address) {
    if (!table->segment_count || address > UINT32_MAX || address < table->first_address)
        return &nothing;
    uint32_t low = 0, high = table->segment_count;
    uint64_t bucket = bucket_of(table, address);
    if (bucket < table->index_count) {
        low = table->index[bucket];
        if (bucket + 1 < table->index_count && table->index[bucket + 1] < high)
            high = table->index[bucket + 1] + 1;
    }
    if (low >= table->segment_count)
        return &nothing;
    while (high > low + 1) {
        uint32_t middle = low + (high - low) / 2;
        if (table->segments[middle].address <= address)
            low = middle;
        else
            high = middle;
    }
    return &table->segments[low];
}

const struct values_plan *values_plan_at(const struct values_table *table, uint64_t address) {
    const struct values_segment *segment = values_find(table, address);
    if (segment == &nothing || !plan_is_sound(table, segment->plan))
        return NULL;
    const struct values_plan *plan = (const void *)&table->plans[segment->plan];
    return segment->count || plan->registers || plan->slots || plan->others ? plan : NULL;
}

const struct values_call_site *values_find_call(const struct values_table *table, uint64_t return_address) {
    uint32_t low = 0, high = table->header->call_site_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->call_sites[middle].return_address < return_address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == table->header->call_site_count || table->call_sites[low].return_address != return_address)
        return NULL;
    return &table->call_sites[low];
}
