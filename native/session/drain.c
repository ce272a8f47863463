#include "session/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WRITE_WHEN_BYTES = 1 << 20,
    REPEAT_CHUNK_BYTES = 256 * 1024,
    // A sample of w words becomes a stack of w + 1 and a reference of 3: at most three times as long.
    GROWTH = 3,
    MAX_STACKS = 1 << 20,
    MAX_STACK_WORDS = 4 << 20,
};

bool drainer_prepare(struct drainer *drainer) {
    intern_init(&drainer->intern, MAX_STACKS, MAX_STACK_WORDS);
    drainer->ring_copy = malloc(WHYPERF_RING_BYTES);
    drainer->output.consumed = calloc(WHYPERF_SLOTS, sizeof *drainer->output.consumed);
    return drainer->ring_copy && drainer->output.consumed;
}

void drainer_release(struct drainer *drainer) {
    rings_close(&drainer->rings);
    intern_release(&drainer->intern);
    living_release(&drainer->living);
    free(drainer->output.bytes);
    free(drainer->output.consumed);
    free(drainer->ring_copy);
}

void drainer_new_log_file(struct drainer *drainer) {
    intern_forget(&drainer->intern);
    drainer->repeat_living = true;
}

static bool append_sample(struct drainer *drainer, const struct whyperf_record *sample) {
    struct output *output = &drainer->output;
    struct pcs pcs = record_pcs(sample, 0);
    uint64_t id;
    enum intern_result result = intern_stack(&drainer->intern, pcs.first, pcs.count, &id);
    if (result == INTERN_NO_MEMORY)
        return false;
    if (result == INTERN_NEW) {
        struct whyperf_record stack = {
            .kind = WHYPERF_RECORD_STACK, .words = (uint16_t)(3 + pcs.count), .time = sample->time};
        output_append(output, &stack, sizeof stack);
        output_append(output, &id, sizeof id);
        output_append(output, pcs.first, pcs.count * sizeof *pcs.first);
    }
    struct whyperf_record reference = *sample;
    reference.kind = WHYPERF_RECORD_SAMPLE_REF;
    reference.words = 3;
    output_append(output, &reference, sizeof reference);
    output_append(output, &id, sizeof id);
    return true;
}

// Copies the ring's new bytes, so that what was checked is what is used, whatever the producer does meanwhile.
static void copy_ring(struct drainer *drainer, uint32_t slot, uint64_t tail, size_t size) {
    const unsigned char *ring = whyperf_ring(drainer->rings.session, slot);
    size_t at = tail % WHYPERF_RING_BYTES;
    size_t first = size < WHYPERF_RING_BYTES - at ? size : WHYPERF_RING_BYTES - at;
    memcpy(drainer->ring_copy, ring + at, first);
    memcpy((unsigned char *)drainer->ring_copy + first, ring, size - first);
}

// Returns how many bytes made sense, or -1 when memory ran out.
static int64_t append_records(struct drainer *drainer, uint64_t tail, size_t size) {
    size_t at = 0;
    while (at < size) {
        const struct whyperf_record *record = (const void *)((const unsigned char *)drainer->ring_copy + at);
        size_t to_end = WHYPERF_RING_BYTES - (tail + at) % WHYPERF_RING_BYTES;
        size_t left = size - at;
        if (record->kind == WHYPERF_RECORD_PAD) {
            if (to_end > left)
                break;
            at += to_end;
            continue;
        }
        if (!record_is_sound_in_ring(record, left < to_end ? left : to_end))
            break;
        if (record->kind != WHYPERF_RECORD_SAMPLE)
            output_append(&drainer->output, record, record_bytes(record));
        else if (!append_sample(drainer, record))
            return -1;
        drainer->output.records++;
        at += record_bytes(record);
    }
    return (int64_t)at;
}

static bool drain_slot(struct drainer *drainer, uint32_t index) {
    struct whyperf_slot *slot = &whyperf_slots(drainer->rings.session)[index];
    struct output *output = &drainer->output;
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&slot->tail, memory_order_relaxed);
    if (head == tail)
        return true;
    struct consumed *consumed = &output->consumed[output->consumed_count];
    *consumed = (struct consumed){.slot = index, .head = head};
    size_t size = head - tail;
    if (size > WHYPERF_RING_BYTES || head % 8 || tail % 8) {
        consumed->damaged = size < WHYPERF_RING_BYTES ? size : WHYPERF_RING_BYTES;
        output->consumed_count++;
        return true;
    }
    if (!output_reserve(output, size * GROWTH + sizeof(struct chunk_header) + sizeof(struct ring_header)))
        return false;
    struct ring_header owner = {
        .pid = slot->pid, .tid = slot->tid, .sequence = atomic_load(&slot->sequence), .start = slot->start};
    copy_ring(drainer, index, tail, size);
    size_t chunk = chunk_begin(output, &owner);
    int64_t sound = append_records(drainer, tail, size);
    if (sound < 0) {
        output->size = chunk;
        return false;
    }
    chunk_end(output, chunk);
    consumed->damaged = size - (size_t)sound;
    output->consumed_count++;
    return true;
}

static bool append_living_process(struct output *output, const struct living_process *process) {
    size_t chunk = 0;
    for (size_t i = 0; i <= process->module_count; i++) {
        const struct whyperf_record *record = i ? process->modules[i - 1] : process->introduction;
        bool begins = i == 0 || output->size - chunk > REPEAT_CHUNK_BYTES;
        if (begins && i)
            chunk_end(output, chunk);
        if (!output_reserve(output, sizeof(struct chunk_header) + sizeof(struct ring_header) + record_bytes(record)))
            return false;
        if (begins)
            chunk = chunk_begin(output, &process->owner);
        output_append(output, record, record_bytes(record));
    }
    chunk_end(output, chunk);
    return true;
}

static bool append_living(struct drainer *drainer) {
    for (size_t i = 0; i < drainer->living.count; i++)
        if (!append_living_process(&drainer->output, &drainer->living.processes[i]))
            return false;
    drainer->output.repeated = drainer->output.size;
    return true;
}

struct noted {
    struct ring_header owner;
    const struct whyperf_record *record;
};

static int by_time(const void *left, const void *right) {
    const struct whyperf_record *a = ((const struct noted *)left)->record;
    const struct whyperf_record *b = ((const struct noted *)right)->record;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a < b ? -1 : a > b;
}

// In time order, because a child may lie before its parent in the output and inherits what the parent had.
static bool note_living(struct drainer *drainer) {
    const struct output *output = &drainer->output;
    struct noted *noted = NULL;
    size_t count = 0, capacity = 0;
    bool complete = true;
    for (size_t at = output->repeated; at < output->size && complete;) {
        const struct chunk_header *chunk = (const void *)(output->bytes + at);
        const struct ring_header *owner = (const void *)(chunk + 1);
        size_t end = at + sizeof *chunk + chunk->length;
        for (at += sizeof *chunk + sizeof *owner; at < end;) {
            const struct whyperf_record *record = (const void *)(output->bytes + at);
            at += record_bytes(record);
            if (record->kind < WHYPERF_RECORD_PROCESS || record->kind > WHYPERF_RECORD_MODULE_GONE)
                continue;
            if (count == capacity) {
                capacity = capacity ? capacity * 2 : 64;
                struct noted *more = realloc(noted, capacity * sizeof *noted);
                complete = more != NULL;
                if (!complete)
                    break;
                noted = more;
            }
            noted[count++] = (struct noted){.owner = *owner, .record = record};
        }
    }
    if (count > 1)
        qsort(noted, count, sizeof *noted, by_time);
    for (size_t i = 0; i < count && complete; i++)
        complete = living_note(&drainer->living, &noted[i].owner, noted[i].record);
    free(noted);
    return complete;
}

// Writes what has been gathered, and only then tells the producers that they may overwrite it.
static bool write_out(struct drainer *drainer, int fd) {
    struct output *output = &drainer->output;
    struct stat before;
    bool sizable = fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
    if (!output_write(output, fd)) {
        int failed = errno;
        if (sizable && ftruncate(fd, before.st_size) != 0)
            failed = errno;
        intern_forget(&drainer->intern);
        output_clear(output);
        errno = failed;
        return false;
    }
    drainer->repeat_living = false;
    struct whyperf_session *session = drainer->rings.session;
    for (size_t i = 0; i < output->consumed_count; i++) {
        const struct consumed *consumed = &output->consumed[i];
        atomic_store_explicit(&whyperf_slots(session)[consumed->slot].tail, consumed->head, memory_order_release);
        session->bytes_damaged += consumed->damaged;
        session->rings_damaged += consumed->damaged != 0;
    }
    bool noted = note_living(drainer);
    output_clear(output);
    errno = ENOMEM;
    return noted;
}

int64_t drainer_drain(struct drainer *drainer, int fd) {
    struct output *output = &drainer->output;
    if (!rings_are_whole(&drainer->rings)) {
        errno = ENODATA;
        return -1;
    }
    int64_t records = 0;
    bool fine = !drainer->repeat_living || append_living(drainer);
    const struct whyperf_slot *slots = whyperf_slots(drainer->rings.session);
    for (uint32_t i = 0; i < WHYPERF_SLOTS && fine; i++) {
        uint32_t state = atomic_load_explicit(&slots[i].state, memory_order_acquire);
        if (state != WHYPERF_SLOT_TAKEN && state != WHYPERF_SLOT_DONE)
            continue;
        fine = drain_slot(drainer, i);
        if (fine && output->size >= WRITE_WHEN_BYTES) {
            records += (int64_t)output->records;
            if (!write_out(drainer, fd))
                return -1;
        }
    }
    if (!fine) {
        intern_forget(&drainer->intern);
        output_clear(output);
        errno = ENOMEM;
        return -1;
    }
    records += (int64_t)output->records;
    if ((output->size || output->consumed_count) && !write_out(drainer, fd))
        return -1;
    return records;
}
