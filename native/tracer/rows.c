#include "tracer/rows.h"

#include "unwind/unwind.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static u32 hash_of(const struct trace_rule *rule) {
    u64 words[sizeof *rule / sizeof(u64)], hash = 0;
    memcpy(words, rule, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = hash * 0x9e3779b97f4a7c15ull ^ words[i];
    return (u32)((hash * 0xc6a4a7935bd1e995ull) >> 32) % RULE_SLOTS;
}

static struct trace_rule rule_of(const struct unwind_row *row) {
    enum { RULE_BYTES = sizeof *row - offsetof(struct unwind_row, offset) };
    _Static_assert(offsetof(struct trace_rule, saved) + offsetof(struct unwind_row, offset) ==
                       offsetof(struct unwind_row, saved),
                   "a rule is a row without its address");
    struct trace_rule rule = {0};
    memcpy(&rule, &row->offset, RULE_BYTES);
    return rule;
}

// A tracer that is opened again finds the rules of the one before it.
static void remember_rules(struct tracer *tracer) {
    const struct trace_rule *rules = tracer->maps[IN_RULES].memory;
    struct trace_installed *installed = &tracer->globals->installed;
    struct trace_rule refused = {.kind = UNWIND_KIND_RULE};
    if (installed->rules == 0)
        ((struct trace_rule *)tracer->maps[IN_RULES].memory)[installed->rules++] = refused;
    for (u32 i = 0; i < installed->rules; i++) {
        u32 slot = hash_of(&rules[i]);
        while (tracer->server.rule_slots[slot])
            slot = (slot + 1) % RULE_SLOTS;
        tracer->server.rule_slots[slot] = i + 1;
    }
}

// The number of a row's rule; the first one refuses to unwind, and stands in for those that find no room.
static u32 rule_number(struct tracer *tracer, const struct unwind_row *row) {
    struct module_server *server = &tracer->server;
    struct trace_installed *installed = &tracer->globals->installed;
    struct trace_rule *rules = tracer->maps[IN_RULES].memory, rule = rule_of(row);
    u32 slot = hash_of(&rule);
    for (; server->rule_slots[slot]; slot = (slot + 1) % RULE_SLOTS)
        if (memcmp(&rules[server->rule_slots[slot] - 1], &rule, sizeof rule) == 0)
            return server->rule_slots[slot] - 1;
    if (installed->rules == TRACE_RULES) {
        server->rules_without_room++;
        return 0;
    }
    rules[installed->rules] = rule;
    server->rule_slots[slot] = ++installed->rules;
    return installed->rules - 1;
}

static bool add_chunk(struct tracer *tracer) {
    struct trace_installed *installed = &tracer->globals->installed;
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    u32 key = installed->chunks;
    if (key == TRACE_CHUNKS)
        return false;
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "wp_rows", sizeof(u32), sizeof(u64), TRACE_CHUNK_ENTRIES, &options);
    if (fd < 0)
        return false;
    size_t size = TRACE_CHUNK_ENTRIES * sizeof(union trace_entry);
    void *entries = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (entries == MAP_FAILED || bpf_map_update_elem(tracer->maps[IN_CHUNKS].fd, &key, &fd, BPF_ANY)) {
        if (entries != MAP_FAILED)
            munmap(entries, size);
        close(fd);
        return false;
    }
    tracer->server.chunks[key] = (struct row_chunk){fd, entries};
    installed->chunks++;
    installed->chunk_entries = 0;
    return true;
}

// A chunk that another process made.
static bool map_chunk(struct tracer *tracer, u32 key, struct row_chunk *chunk) {
    u32 id;
    if (bpf_map_lookup_elem(tracer->maps[IN_CHUNKS].fd, &key, &id))
        return false;
    int fd = bpf_map_get_fd_by_id(id);
    if (fd < 0)
        return false;
    void *entries =
        mmap(NULL, TRACE_CHUNK_ENTRIES * sizeof(union trace_entry), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (entries == MAP_FAILED) {
        close(fd);
        return false;
    }
    *chunk = (struct row_chunk){fd, entries};
    return true;
}

// The chunk that is being filled; NULL if there is none yet.
static struct row_chunk *current_chunk(struct tracer *tracer) {
    u32 chunks = tracer->globals->installed.chunks;
    struct row_chunk *chunk = chunks ? &tracer->server.chunks[chunks - 1] : NULL;
    return chunk && (chunk->entries || map_chunk(tracer, chunks - 1, chunk)) ? chunk : NULL;
}

// Rows [first, end) of a table: together with their index they fit into a chunk.
struct row_range {
    u32 first, end;
    u32 until; // address at which the range ends
};

static u32 buckets_of(const struct unwind_row *rows, const struct row_range *range) {
    return ((range->until - 1) >> UNWIND_INDEX_SHIFT) - (rows[range->first].address >> UNWIND_INDEX_SHIFT) + 1;
}

// How far the last row of a range reaches: over a wide gap without unwind information it need not.
static u32 end_of_row(const struct unwind_table *table, u32 row) {
    enum { WIDE_GAP = 1 << 20 };
    const struct unwind_row *last = &table->rows[row];
    if (row + 1 == table->row_count)
        return last->address + 1;
    u32 next = last[1].address;
    return next - last->address > WIDE_GAP && last->kind == UNWIND_KIND_NONE ? last->address + 1 : next;
}

// Ends a range where a wide gap follows, or where a chunk is full.
static struct row_range next_range(const struct unwind_table *table, u32 first) {
    struct row_range range = {first, first + 1, end_of_row(table, first)};
    while (range.end < table->row_count && range.until == table->rows[range.end].address) {
        struct row_range larger = {first, range.end + 1, end_of_row(table, range.end)};
        if (larger.end - first + buckets_of(table->rows, &larger) > TRACE_CHUNK_ENTRIES)
            break;
        range = larger;
    }
    return range;
}

static void fill(struct tracer *tracer, const struct unwind_table *table, const struct row_range *range,
                 const struct installed_part *part) {
    union trace_entry *entries = tracer->server.chunks[part->chunk].entries;
    u32 rows_at = part->first + part->buckets, row = range->first;
    for (u32 i = range->first; i < range->end; i++) {
        union trace_entry *entry = &entries[rows_at + (i - range->first)];
        entry->address = table->rows[i].address;
        entry->rule = rule_number(tracer, &table->rows[i]);
    }
    for (u32 bucket = 0; bucket < part->buckets; bucket++) {
        u64 start = (u64)(part->first_bucket + bucket) << UNWIND_INDEX_SHIFT;
        u64 end = start + (1 << UNWIND_INDEX_SHIFT);
        while (row + 1 < range->end && table->rows[row + 1].address <= start)
            row++;
        u32 last = row;
        while (last + 1 < range->end && table->rows[last + 1].address < end)
            last++;
        entries[part->first + bucket].low = rows_at + (row - range->first);
        entries[part->first + bucket].high = rows_at + (last - range->first);
    }
}

static bool install_part(struct tracer *tracer, const struct unwind_table *table, const struct row_range *range,
                         struct installed_part *part) {
    struct trace_installed *installed = &tracer->globals->installed;
    u32 buckets = buckets_of(table->rows, range), needed = buckets + range->end - range->first;
    if (needed > TRACE_CHUNK_ENTRIES)
        return false;
    if ((!current_chunk(tracer) || TRACE_CHUNK_ENTRIES - installed->chunk_entries < needed) && !add_chunk(tracer))
        return false;
    *part = (struct installed_part){
        .from = table->rows[range->first].address,
        .to = range->until,
        .chunk = installed->chunks - 1,
        .first = installed->chunk_entries,
        .first_bucket = table->rows[range->first].address >> UNWIND_INDEX_SHIFT,
        .buckets = buckets,
    };
    installed->chunk_entries += needed;
    fill(tracer, table, range, part);
    return true;
}

static bool install_parts(struct tracer *tracer, struct installed_table *made, const struct unwind_table *table) {
    for (u32 first = 0; first < table->row_count;) {
        struct row_range range = next_range(table, first);
        struct installed_part *larger = realloc(made->parts, (made->part_count + 1) * sizeof *larger);
        if (!larger)
            return false;
        made->parts = larger;
        if (!install_part(tracer, table, &range, &made->parts[made->part_count]))
            return false;
        made->part_count++;
        first = range.end;
    }
    return true;
}

bool prepare_rows(struct tracer *tracer) {
    remember_rules(tracer);
    return tracer->globals->installed.chunks || add_chunk(tracer);
}

const struct installed_table *install_table(struct tracer *tracer, const struct module_table *table) {
    struct module_server *server = &tracer->server;
    for (struct installed_table *known = server->installed; known; known = known->next)
        if (known->table == table)
            return known;
    struct installed_table *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->table = table;
    if (!install_parts(tracer, made, &table->rows))
        server->modules_without_room++;
    made->next = server->installed;
    server->installed = made;
    return made;
}
