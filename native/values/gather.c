#include "values/gather.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// After a page that is not there, reading goes on behind it; so many times.
enum { READ_CALLS_MAX = 4 };

struct gathering {
    struct values_space *space;
    const struct values_source *source;
    uint32_t cells, pending, fetches, fetch_bytes;
};

static bool in_own_stack(const struct values_source *source, uint64_t address, size_t size) {
    return address >= source->stack_low && address < source->stack_high && source->stack_high - address >= size;
}

static bool read_own_stack(void *context, uint64_t address, void *bytes, size_t size) {
    if (!in_own_stack(context, address, size))
        return false;
    memcpy(bytes, (const void *)address, size);
    return true;
}

static uint64_t cut_to(uint64_t value, uint8_t size) {
    return size == 8 ? value : value & (((uint64_t)1 << (8 * size)) - 1);
}

static void set_cell(struct gathering *work, uint32_t cell, uint64_t value, uint8_t size) {
    work->space->cells[cell] = cut_to(value, size);
    work->space->sizes[cell] = size;
}

static uint64_t span_size(const struct values_field *field, uint64_t first, uint64_t last) {
    return (last - first) / field->scale;
}

// The fetch that covers [address, address + size); -1 when there is no room for another.
static int fetch_of(struct gathering *work, uint64_t address, uint32_t size) {
    struct values_space *space = work->space;
    for (uint32_t i = 0; i < work->fetches; i++)
        if (space->fetches[i].address == address && space->fetches[i].size >= size)
            return (int)i;
    if (work->fetches == VALUES_FETCHES_MAX || size > VALUES_FETCH_BYTES_MAX - work->fetch_bytes)
        return -1;
    space->fetches[work->fetches] = (struct values_fetch){.address = address, .size = size, .at = work->fetch_bytes};
    work->fetch_bytes += size;
    return (int)work->fetches++;
}

static void wait_for(struct gathering *work, uint32_t cell, int fetch, uint32_t offset, uint8_t size,
                     const struct values_field *span) {
    if (fetch < 0 || !work->source->system_calls_allowed)
        return;
    work->space->pending[work->pending++] = (struct values_pending){
        .cell = (uint16_t)cell, .fetch = (uint16_t)fetch, .offset = (uint16_t)offset, .size = size, .span = span};
}

static uint32_t field_bytes(const struct values_field *field) {
    return field->flags & VALUES_FLAG_SPAN ? 16 : field->size;
}

static bool field_is_near(const struct values_field *field) {
    return field->offset >= 0 && field->offset <= VALUES_SPAN_MAX - 16;
}

static void read_field_directly(struct gathering *work, uint32_t cell, uint64_t pointer,
                                const struct values_field *field) {
    uint64_t words[2] = {0, 0};
    if (!read_own_stack((void *)work->source, pointer + (uint64_t)field->offset, words, field_bytes(field)))
        return;
    bool span = field->flags & VALUES_FLAG_SPAN;
    set_cell(work, cell, span ? span_size(field, words[0], words[1]) : words[0], field->size);
}

// Fields behind a pointer take one fetch, up to the last of them.
static void gather_fields(struct gathering *work, const struct values_table *table,
                          const struct values_location *location, uint32_t first_cell, uint64_t pointer) {
    const struct values_field *fields = &table->fields[location->first_field];
    uint32_t reach = 0;
    for (uint32_t i = 0; i < location->field_count; i++) {
        uint32_t end = (uint32_t)fields[i].offset + field_bytes(&fields[i]);
        if (field_is_near(&fields[i]) && end > reach)
            reach = end;
    }
    if (pointer < 4096 || reach == 0)
        return;
    bool direct = in_own_stack(work->source, pointer, reach);
    int fetch = direct ? -1 : fetch_of(work, pointer, reach);
    for (uint32_t i = 0; i < location->field_count; i++) {
        if (!field_is_near(&fields[i]))
            continue;
        if (direct)
            read_field_directly(work, first_cell + i, pointer, &fields[i]);
        else
            wait_for(work, first_cell + i, fetch, (uint32_t)fields[i].offset, fields[i].size,
                     fields[i].flags & VALUES_FLAG_SPAN ? &fields[i] : NULL);
    }
}

static void gather_location(struct gathering *work, const struct values_frame *frame,
                            const struct values_location *location) {
    struct values_space *space = work->space;
    uint32_t cell = work->cells;
    work->cells += 1 + location->field_count;
    memset(&space->sizes[cell], 0, 1 + location->field_count);
    space->pointers[cell] = location->flags & VALUES_FLAG_POINTER;
    for (uint32_t i = 0; i < location->field_count; i++)
        space->pointers[cell + 1 + i] = frame->table->fields[location->first_field + i].flags & VALUES_FLAG_POINTER;

    uint64_t answer, value = 0;
    enum values_answer kind = values_evaluate(frame, location, read_own_stack, (void *)work->source, &answer);
    if (kind == VALUES_IS) {
        value = answer;
    } else if (kind == VALUES_IS_AT && !read_own_stack((void *)work->source, answer, &value, location->size)) {
        wait_for(work, cell, fetch_of(work, answer, location->size), 0, location->size, NULL);
        return;
    }
    if (kind == VALUES_UNREADABLE)
        return;
    set_cell(work, cell, value, location->size);
    if (location->field_count)
        gather_fields(work, frame->table, location, cell + 1, value);
}

static void run_fetches(struct gathering *work) {
    struct values_space *space = work->space;
    for (uint32_t i = 0; i < work->fetches; i++)
        space->remote[i] = (struct iovec){(void *)space->fetches[i].address, space->fetches[i].size};
    uint32_t next = 0;
    for (int calls = 0; calls < READ_CALLS_MAX && next < work->fetches; calls++) {
        uint32_t at = space->fetches[next].at;
        struct iovec local = {space->fetched + at, work->fetch_bytes - at};
        long got =
            syscall(SYS_process_vm_readv, work->source->pid, &local, 1, &space->remote[next], work->fetches - next, 0);
        for (; next < work->fetches && got >= (long)space->fetches[next].size; next++) {
            got -= space->fetches[next].size;
            space->fetches[next].done = true;
        }
        next++; // the one that failed
    }
}

static void settle_pending(struct gathering *work) {
    struct values_space *space = work->space;
    for (uint32_t i = 0; i < work->pending; i++) {
        const struct values_pending *pending = &space->pending[i];
        const struct values_fetch *fetch = &space->fetches[pending->fetch];
        if (!fetch->done)
            continue;
        uint64_t words[2] = {0, 0};
        memcpy(words, space->fetched + fetch->at + pending->offset, pending->span ? 16 : pending->size);
        uint64_t value = pending->span ? span_size(pending->span, words[0], words[1]) : words[0];
        set_cell(work, pending->cell, value, pending->size);
    }
}

static uint64_t packed_value(const struct gathering *work, uint32_t cell) {
    uint64_t value = work->space->cells[cell];
    if (work->space->pointers[cell] && in_own_stack(work->source, value, 1))
        return VALUES_OWN_STACK | (work->source->stack_high - value);
    return value;
}

static uint32_t pack_frame(const struct gathering *work, uint8_t depth, uint32_t first, uint32_t count,
                           unsigned char *out, struct values_gathered *gathered) {
    uint32_t bitmap_bytes = (count + 7) / 8, at = 4 + bitmap_bytes;
    out[0] = depth;
    out[1] = 0;
    out[2] = (unsigned char)count;
    out[3] = (unsigned char)(count >> 8);
    memset(out + 4, 0, bitmap_bytes);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t size = work->space->sizes[first + i];
        if (!size) {
            gathered->unreadable++;
            continue;
        }
        gathered->read++;
        out[4 + i / 8] |= (unsigned char)(1 << i % 8);
        uint64_t value = packed_value(work, first + i);
        memcpy(out + at, &value, size);
        at += size;
    }
    return at;
}

struct values_gathered values_gather_in_signal(struct values_space *space, uint32_t frame_count,
                                               const struct values_source *source, unsigned char *out) {
    struct gathering work = {.space = space, .source = source};
    uint32_t ends[VALUES_DEPTH_MAX] = {0};
    uint32_t worst = 0;
    for (uint32_t depth = 0; depth < frame_count && depth < VALUES_DEPTH_MAX; depth++) {
        const struct values_frame *frame = &space->frames[depth];
        if (frame->table) {
            uint64_t address = frame->registers.value[UNWIND_RIP] - frame->bias - !frame->pc_is_exact;
            const struct values_segment *segment = values_find(frame->table, address);
            uint32_t cells = values_cells(frame->table, segment);
            uint32_t bytes = 4 + (cells + 7) / 8 + 8 * cells;
            if (cells <= VALUES_CELLS_MAX - work.cells && bytes <= VALUES_RECORD_BYTES_MAX - worst) {
                worst += bytes;
                for (uint32_t i = 0; i < segment->count; i++)
                    gather_location(&work, frame, &frame->table->locations[frame->table->list[segment->first + i]]);
            }
        }
        ends[depth] = work.cells;
    }
    if (work.fetches && source->system_calls_allowed) {
        run_fetches(&work);
        settle_pending(&work);
    }
    struct values_gathered gathered = {0};
    for (uint32_t depth = 0, first = 0; depth < frame_count && depth < VALUES_DEPTH_MAX; first = ends[depth++])
        if (ends[depth] > first)
            gathered.bytes +=
                pack_frame(&work, (uint8_t)depth, first, ends[depth] - first, out + gathered.bytes, &gathered);
    return gathered;
}
