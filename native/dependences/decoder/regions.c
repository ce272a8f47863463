#include "dependences/decoder/regions.h"

#include "dependences/decoder/blocks.h"
#include "dependences/decoder/threads.h"

static bool within(const int32_t *numbers, size_t count, size_t limit) {
    for (size_t i = 0; i < count; i++)
        if (numbers[i] < -1 || (numbers[i] >= 0 && (size_t)numbers[i] >= limit))
            return false;
    return true;
}

bool flow_is_sound(const struct flow *flow, size_t sites) {
    if (!within(flow->site_block, sites, flow->blocks) || !within(flow->block_ipdom, flow->blocks, flow->blocks) ||
        !within(flow->block_loop, flow->blocks, flow->loops) || !within(flow->loop_header, flow->loops, flow->blocks))
        return false;
    if (!within(flow->loop_parent, flow->loops, flow->loops))
        return false;
    // Walking up must end.
    for (size_t i = 0; i < flow->loops; i++) {
        size_t steps = 0;
        for (int32_t loop = (int32_t)i; loop >= 0; loop = flow->loop_parent[loop])
            if (steps++ > flow->loops)
                return false;
    }
    return true;
}

static struct region *region_at(const struct regions *regions, uint32_t number) {
    return (struct region *)regions->regions.data + number;
}

static uint32_t last_region(const struct regions *regions) {
    return (uint32_t)(regions->regions.count - 1);
}

// The running thread; one that was never announced (the stream was cut) hangs on the root.
static struct thread *current(struct regions *regions) {
    struct thread *thread = threads_get(regions, regions->thread);
    if (thread && !thread->frames.count && region_add(regions, REGION_THREAD, 0, (int32_t)regions->thread, 0, 0, 0))
        frame_add(regions, thread, REGION_THREAD, last_region(regions));
    return thread && thread->frames.count ? thread : NULL;
}

bool regions_start(struct regions *regions, const struct flow *flow, const struct scanned *scanned) {
    *regions = (struct regions){.flow = flow, .scanned = scanned, .thread = 1};
    region_add(regions, REGION_ROOT, 0, -1, -1, 0, 1);
    if (!regions->no_memory)
        region_at(regions, 0)->thread = 0;
    return !regions->no_memory;
}

void regions_free(struct regions *regions) {
    struct thread *threads = regions->threads.data;
    for (size_t i = 0; i < regions->threads.count; i++) {
        column_free(&threads[i].frames);
        column_free(&threads[i].opens);
    }
    column_free(&regions->threads);
    column_free(&regions->regions);
    column_free(&regions->heap);
}

static void enter(struct regions *regions, struct thread *thread, int32_t function, bool tail, uint32_t first) {
    struct frame *caller = thread_frame(thread);
    uint32_t call = tail ? caller->event : caller->call;
    if (tail && regions->flow)
        blocks_jump_out(regions, thread, first);
    struct region *region = region_add(regions, REGION_ACTIVATION, thread_region(thread), function, tail, call, first);
    if (!region)
        return;
    region->began = thread->instructions;
    frame_add(regions, thread, REGION_ACTIVATION, last_region(regions));
}

static void leave(struct regions *regions, struct thread *thread) {
    struct frame *frame = thread_frame(thread);
    if (frame->kind == REGION_ACTIVATION) {
        struct region *region = region_at(regions, frame->region);
        region->instructions = thread->instructions - region->began;
    }
    thread->opens.count = frame->base;
    thread->frames.count--;
}

uint32_t regions_event(struct regions *regions, const struct event *event) {
    struct thread *thread = current(regions);
    if (!thread)
        return 0;
    struct frame *frame = thread_frame(thread);
    const struct flow *flow = regions->flow;
    int32_t block = flow && !event->join ? flow->site_block[event->site] : -1;
    if (block < 0)
        return thread_region(thread);
    const struct scanned_site *site = (const struct scanned_site *)regions->scanned->sites.data + event->site;
    if (frame->kind != REGION_ACTIVATION) {
        // Code of a function whose entry was not seen.
        enter(regions, thread, site->function, false, event->number);
        frame = thread_frame(thread);
    }
    // A repeated string instruction arrives at itself without a branch.
    bool repeats = frame->site == event->site && !(site->flags & (SITE_CONDITIONAL | SITE_INDIRECT));
    if (flow->site_head[event->site] && !repeats)
        blocks_arrive(regions, thread, block, event->number);
    if (flow->block_branch[block]) {
        frame->branch = block;
        frame->branched = event->number;
    }
    frame->site = event->site;
    frame->event = event->number;
    if (site->flags & SITE_CALL)
        frame->call = event->number;
    return thread_region(thread);
}

static void on_enter(struct regions *regions, struct bytes *bytes, uint32_t events) {
    struct thread *thread = current(regions);
    int32_t function = (int32_t)bytes_number(bytes);
    uint64_t passed = bytes_number(bytes), flags = bytes_number(bytes);
    if (!thread)
        return;
    thread->instructions += passed;
    enter(regions, thread, function, flags & ENTER_TAIL, events + 1);
    if (!(flags & ENTER_ARGUMENTS))
        return;
    uint64_t argument0 = bytes_number(bytes), argument1 = bytes_number(bytes), caller = bytes_number(bytes);
    struct heap_call *call = column_add(&regions->heap, sizeof *call);
    if (!call) {
        regions->no_memory = true;
        return;
    }
    *call = (struct heap_call){.function = function,
                               .thread = regions->thread,
                               .region = last_region(regions),
                               .event = events + 1,
                               .argument0 = argument0,
                               .argument1 = argument1,
                               .caller = caller};
    thread_frame(thread)->heap = regions->heap.count;
}

static void on_leave(struct regions *regions, struct bytes *bytes) {
    struct thread *thread = current(regions);
    uint64_t ended = bytes_number(bytes), passed = bytes_number(bytes), flags = bytes_number(bytes);
    uint64_t result = flags & LEAVE_RESULT ? bytes_number(bytes) : 0;
    if (!thread)
        return;
    thread->instructions += passed;
    for (; ended && thread_frame(thread)->kind == REGION_ACTIVATION; ended--) {
        const struct frame *frame = thread_frame(thread);
        if (frame->heap && (flags & LEAVE_RESULT)) {
            struct heap_call *call = (struct heap_call *)regions->heap.data + frame->heap - 1;
            call->result = result;
            call->returned = 1;
        }
        leave(regions, thread);
    }
}

static void on_thread(struct regions *regions, struct bytes *bytes, uint32_t events) {
    uint32_t created = (uint32_t)bytes_number(bytes), creator = (uint32_t)bytes_number(bytes);
    if (!threads_get(regions, created))
        return;
    struct thread *from = creator ? threads_get(regions, creator) : NULL;
    uint32_t parent = from ? thread_region(from) : 0;
    struct region *region =
        region_add(regions, REGION_THREAD, parent, (int32_t)created, (int32_t)creator, 0, events + 1);
    if (!region)
        return;
    region->thread = created;
    struct thread *thread = threads_get(regions, created);
    if (!thread->frames.count)
        frame_add(regions, thread, REGION_THREAD, last_region(regions));
}

static void on_switch(struct regions *regions, struct bytes *bytes) {
    uint32_t next = (uint32_t)bytes_number(bytes);
    uint64_t passed = bytes_number(bytes);
    struct thread *thread = current(regions);
    if (thread)
        thread->instructions += passed;
    regions->thread = next;
}

static void on_signal(struct regions *regions, struct bytes *bytes, uint32_t events) {
    struct thread *thread = current(regions);
    int32_t signal = (int32_t)bytes_number(bytes);
    if (!thread)
        return;
    uint32_t base = ((struct frame *)thread->frames.data)[0].region;
    if (region_add(regions, REGION_SIGNAL, base, signal, -1, 0, events + 1))
        frame_add(regions, thread, REGION_SIGNAL, last_region(regions));
}

static void on_signal_end(struct regions *regions) {
    struct thread *thread = current(regions);
    if (!thread)
        return;
    while (thread_frame(thread)->kind == REGION_ACTIVATION)
        leave(regions, thread);
    if (thread_frame(thread)->kind == REGION_SIGNAL)
        leave(regions, thread);
}

bool regions_record(struct regions *regions, uint64_t record, struct bytes *bytes, uint32_t events) {
    switch (record) {
    case RECORD_ENTER:
        on_enter(regions, bytes, events);
        break;
    case RECORD_LEAVE:
        on_leave(regions, bytes);
        break;
    case RECORD_THREAD:
        on_thread(regions, bytes, events);
        break;
    case RECORD_SWITCH:
        on_switch(regions, bytes);
        break;
    case RECORD_SIGNAL:
        on_signal(regions, bytes, events);
        break;
    case RECORD_SIGNAL_END:
        on_signal_end(regions);
        break;
    default:
        if (!record_skip(record, bytes))
            bytes->bad = true;
    }
    return !regions->no_memory;
}

void regions_finish(struct regions *regions) {
    // What was executed after the last marker belongs to the thread that ran last.
    struct thread *threads = regions->threads.data;
    uint64_t known = 0;
    for (size_t i = 0; i < regions->threads.count; i++)
        known += threads[i].instructions;
    if (regions->thread < regions->threads.count && regions->scanned->instructions > known)
        threads[regions->thread].instructions += regions->scanned->instructions - known;
    for (size_t i = 0; i < regions->threads.count; i++)
        while (threads[i].frames.count)
            leave(regions, &threads[i]);
    for (size_t i = 0; i < regions->regions.count; i++) {
        struct region *region = region_at(regions, (uint32_t)i);
        if (region->kind == REGION_THREAD && region->thread < regions->threads.count)
            region->instructions = threads[region->thread].instructions;
    }
}
