#include "perf_data/samples.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

// linux/perf_event.h of older kernels lacks these.
enum { BRANCH_HW_INDEX = 1 << 17, BRANCH_COUNTERS = 1 << 19, READ_LOST = 1 << 4 };
enum { DEEPEST = 1 << 13 }; // u16 record sizes permit no more addresses

void perf_stacks_init(struct perf_stacks *stacks) {
    *stacks = (struct perf_stacks){0};
    intern_init(&stacks->seen, SIZE_MAX, SIZE_MAX);
}

void perf_stacks_release(struct perf_stacks *stacks) {
    intern_release(&stacks->seen);
    free(stacks->ends);
}

static bool add_end(struct perf_stacks *stacks) {
    if (stacks->count == stacks->capacity) {
        size_t capacity = 2 * stacks->capacity + 1024;
        int64_t *larger = realloc(stacks->ends, capacity * sizeof *larger);
        if (!larger)
            return false;
        stacks->ends = larger;
        stacks->capacity = capacity;
    }
    stacks->ends[stacks->count++] = (int64_t)stacks->seen.word_count;
    return true;
}

bool perf_stacks_add(struct perf_stacks *stacks, const uint64_t *pcs, uint32_t count, uint32_t *number) {
    uint64_t id = 0;
    *number = 0;
    if (count == 0)
        return true;
    enum intern_result result = intern_stack(&stacks->seen, pcs, count, &id);
    if (result == INTERN_NO_MEMORY || (result == INTERN_NEW && !add_end(stacks)))
        return false;
    *number = (uint32_t)id + 1;
    return true;
}

// What is left of a record.
struct reading {
    const uint8_t *data;
    size_t at, end;
    bool damaged;
};

static size_t skip(struct reading *reading, uint64_t size) {
    size_t at = reading->at;
    if (size > reading->end - reading->at) {
        reading->damaged = true;
        return reading->end;
    }
    reading->at += size;
    return at;
}

static uint64_t word(struct reading *reading) {
    uint64_t value = 0;
    size_t at = skip(reading, sizeof value);
    if (!reading->damaged)
        memcpy(&value, reading->data + at, sizeof value);
    return value;
}

static void words(struct reading *reading, uint64_t count) {
    skip(reading, count > DEEPEST ? UINT64_MAX : count * 8);
}

static void skip_counts(struct reading *reading, uint64_t format) {
    uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    uint64_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);
    if (format & PERF_FORMAT_GROUP) {
        uint64_t counters = word(reading);
        words(reading, times + (counters > DEEPEST ? DEEPEST + 1 : counters * each));
    } else {
        words(reading, times + each);
    }
}

static void skip_branches(struct reading *reading, uint64_t branch_sample_type) {
    uint64_t count = word(reading);
    words(reading, branch_sample_type & BRANCH_HW_INDEX ? 1 : 0);
    words(reading, count > DEEPEST ? DEEPEST + 1 : 3 * count);
    if (branch_sample_type & BRANCH_COUNTERS)
        words(reading, count);
}

static bool is_kernel(uint64_t context) {
    return context == (uint64_t)PERF_CONTEXT_KERNEL || context == (uint64_t)PERF_CONTEXT_HV;
}

// Kernel and user part of a chain, told apart by the markers in it.
static bool take_chain(struct reading *reading, struct perf_stacks *stacks, struct perf_sample *sample) {
    uint64_t user[DEEPEST], kernel[DEEPEST];
    uint32_t users = 0, kernels = 0;
    uint64_t count = word(reading);
    size_t at = reading->at;
    words(reading, count);
    if (reading->damaged)
        return true;
    bool in_kernel = (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL, in_guest = false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t pc;
        memcpy(&pc, reading->data + at + 8 * i, sizeof pc);
        if (pc >= (uint64_t)PERF_CONTEXT_MAX) {
            in_kernel = is_kernel(pc);
            in_guest = !in_kernel && pc != (uint64_t)PERF_CONTEXT_USER;
        } else if (!in_guest && pc != 0) {
            if (in_kernel)
                kernel[kernels++] = pc;
            else
                user[users++] = pc;
        }
    }
    return perf_stacks_add(stacks, user, users, &sample->user_stack) &&
           perf_stacks_add(stacks, kernel, kernels, &sample->kernel_stack);
}

// Without a call chain the address is all there is to the stack.
static bool take_address(const struct sample_layout *layout, struct perf_stacks *stacks, struct perf_sample *sample) {
    uint16_t mode = sample->misc & PERF_RECORD_MISC_CPUMODE_MASK;
    if (!(layout->sample_type & PERF_SAMPLE_IP) || sample->ip == 0)
        return true;
    if (mode == PERF_RECORD_MISC_KERNEL)
        return sample->kernel_stack || perf_stacks_add(stacks, &sample->ip, 1, &sample->kernel_stack);
    if (mode == PERF_RECORD_MISC_USER)
        return sample->user_stack || perf_stacks_add(stacks, &sample->ip, 1, &sample->user_stack);
    return true;
}

static void take_raw(struct reading *reading, struct perf_sample *sample) {
    size_t at = skip(reading, sizeof sample->raw_size);
    if (reading->damaged)
        return;
    memcpy(&sample->raw_size, reading->data + at, sizeof sample->raw_size);
    sample->raw = skip(reading, sample->raw_size);
}

static void take_registers(struct reading *reading, uint64_t mask, struct perf_sample *sample) {
    uint64_t abi = word(reading);
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return;
    sample->abi = (uint8_t)abi;
    sample->registers = reading->at;
    words(reading, (uint64_t)__builtin_popcountll(mask));
}

static void take_memory(struct reading *reading, struct perf_sample *sample) {
    uint64_t size = word(reading);
    if (size == 0)
        return;
    size_t memory = skip(reading, size);
    uint64_t used = word(reading);
    sample->memory = memory;
    sample->memory_size = (uint32_t)(used < size ? used : size);
}

static bool find_event(const struct sample_events *events, const uint8_t *data, size_t at, size_t end,
                       uint32_t *event) {
    *event = 0;
    if (events->id_count == 0)
        return events->layout_count > 0;
    uint64_t type = events->layouts[0].sample_type, id;
    size_t before = 0;
    if (!(type & PERF_SAMPLE_IDENTIFIER)) {
        if (!(type & PERF_SAMPLE_ID))
            return events->layout_count == 1;
        before = (size_t)__builtin_popcountll(type &
                                              (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
    }
    at += sizeof(struct perf_header) + 8 * before;
    if (end < at || end - at < sizeof id)
        return false;
    memcpy(&id, data + at, sizeof id);
    size_t low = 0, high = events->id_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (events->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == events->id_count || events->ids[low] != id)
        return false;
    *event = events->events[low];
    return true;
}

enum decoded decode_sample(const uint8_t *data, size_t at, const struct sample_events *events,
                           struct perf_stacks *stacks, struct perf_sample *sample) {
    struct perf_header header;
    memcpy(&header, data + at, sizeof header);
    *sample = (struct perf_sample){.misc = header.misc};
    struct reading reading = {data, at + sizeof header, at + header.size, false};
    if (!find_event(events, data, at, reading.end, &sample->event))
        return DECODED_FOREIGN;
    const struct sample_layout *layout = &events->layouts[sample->event];
    uint64_t type = layout->sample_type, pair;
    if (type & PERF_SAMPLE_IDENTIFIER)
        word(&reading);
    if (type & PERF_SAMPLE_IP)
        sample->ip = word(&reading);
    if (type & PERF_SAMPLE_TID) {
        pair = word(&reading);
        sample->pid = (uint32_t)pair;
        sample->tid = (uint32_t)(pair >> 32);
    }
    if (type & PERF_SAMPLE_TIME)
        sample->time = word(&reading);
    if (type & PERF_SAMPLE_ADDR)
        sample->address = word(&reading);
    if (type & PERF_SAMPLE_ID)
        word(&reading);
    if (type & PERF_SAMPLE_STREAM_ID)
        word(&reading);
    if (type & PERF_SAMPLE_CPU)
        sample->cpu = (uint32_t)word(&reading);
    if (type & PERF_SAMPLE_PERIOD)
        sample->period = word(&reading);
    if (type & PERF_SAMPLE_READ)
        skip_counts(&reading, layout->read_format);
    if (type & PERF_SAMPLE_CALLCHAIN && !take_chain(&reading, stacks, sample))
        return DECODED_NO_MEMORY;
    if (type & PERF_SAMPLE_RAW)
        take_raw(&reading, sample);
    if (type & PERF_SAMPLE_BRANCH_STACK)
        skip_branches(&reading, layout->branch_sample_type);
    if (type & PERF_SAMPLE_REGS_USER)
        take_registers(&reading, layout->user_registers, sample);
    if (type & PERF_SAMPLE_STACK_USER)
        take_memory(&reading, sample);
    // Weights, data sources and whatever comes after say nothing that recordings keep.
    if (reading.damaged)
        return DECODED_DAMAGED;
    return take_address(layout, stacks, sample) ? DECODED : DECODED_NO_MEMORY;
}
