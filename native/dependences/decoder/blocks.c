#include "dependences/decoder/blocks.h"

static bool in_loop(const struct flow *flow, int32_t block, int32_t loop) {
    int32_t inner = flow->block_loop[block];
    while (inner >= 0 && inner != loop)
        inner = flow->loop_parent[inner];
    return inner >= 0;
}

static uint32_t last_region(const struct regions *regions) {
    return (uint32_t)(regions->regions.count - 1);
}

// Closes what does not enclose the block: loops that it is outside of with all inside them, then arms that meet here.
static void close_left(const struct regions *regions, struct thread *thread, const struct frame *frame, int32_t block) {
    const struct open *opens = thread->opens.data;
    for (size_t i = frame->base; i < thread->opens.count; i++)
        if (opens[i].kind == REGION_LOOP && !in_loop(regions->flow, block, opens[i].loop)) {
            thread->opens.count = i;
            break;
        }
    for (size_t i = thread->opens.count; i > frame->base && opens[i - 1].kind == REGION_ARM; i--)
        if (opens[i - 1].ipdom == block)
            thread->opens.count = i - 1;
}

// A branch that is open already and taken again without a loop around both: an irreducible loop.
static void close_same_branch(const struct regions *regions, struct thread *thread, const struct frame *frame,
                              int32_t branch) {
    const struct open *opens = thread->opens.data;
    for (size_t i = thread->opens.count; i > frame->base; i--) {
        const struct open *open = &opens[i - 1];
        if (open->kind == REGION_LOOP && in_loop(regions->flow, branch, open->loop))
            return;
        if (open->kind == REGION_ARM && open->branch == branch) {
            thread->opens.count = i - 1;
            return;
        }
    }
}

static void open_arm(struct regions *regions, struct thread *thread, int32_t branch, int32_t successor,
                     uint32_t decided, uint32_t event) {
    uint32_t parent = thread_region(thread);
    if (region_add(regions, REGION_ARM, parent, branch, successor, decided, event))
        open_add(regions, thread,
                 (struct open){.region = last_region(regions),
                               .ipdom = regions->flow->block_ipdom[branch],
                               .branch = branch,
                               .loop = -1,
                               .kind = REGION_ARM});
}

static struct open *open_loop(struct regions *regions, struct thread *thread, int32_t loop, uint32_t decided,
                              uint32_t event) {
    uint32_t parent = thread_region(thread);
    int32_t header = regions->flow->loop_header[loop];
    if (!region_add(regions, REGION_LOOP, parent, loop, header, decided, event))
        return NULL;
    return open_add(
        regions, thread,
        (struct open){.region = last_region(regions), .ipdom = -1, .branch = -1, .loop = loop, .kind = REGION_LOOP});
}

static void begin_iteration(struct regions *regions, struct thread *thread, const struct frame *frame, int32_t loop,
                            uint32_t decided, uint32_t event) {
    struct open *opens = thread->opens.data, *instance = NULL;
    for (size_t i = thread->opens.count; i > frame->base && !instance; i--)
        if (opens[i - 1].kind == REGION_LOOP && opens[i - 1].loop == loop) {
            instance = &opens[i - 1];
            thread->opens.count = i;
        }
    if (!instance)
        instance = open_loop(regions, thread, loop, decided, event);
    if (!instance)
        return;
    uint32_t number = instance->iterations++;
    if (region_add(regions, REGION_ITERATION, instance->region, loop, (int32_t)number, decided, event))
        open_add(
            regions, thread,
            (struct open){
                .region = last_region(regions), .ipdom = -1, .branch = -1, .loop = loop, .kind = REGION_ITERATION});
}

void blocks_arrive(struct regions *regions, struct thread *thread, int32_t block, uint32_t event) {
    const struct flow *flow = regions->flow;
    struct frame *frame = thread_frame(thread);
    int32_t branch = frame->branch, loop = flow->block_loop[block];
    uint32_t decided = branch >= 0 ? frame->branched : 0;
    bool is_header = loop >= 0 && flow->loop_header[loop] == block;
    frame->branch = -1;
    close_left(regions, thread, frame, block);
    bool back = branch >= 0 && is_header && in_loop(flow, branch, loop);
    if (branch >= 0 && !back && flow->block_ipdom[branch] != block) {
        close_same_branch(regions, thread, frame, branch);
        open_arm(regions, thread, branch, block, decided, event);
    }
    if (is_header)
        begin_iteration(regions, thread, frame, loop, decided, event);
}

void blocks_jump_out(struct regions *regions, struct thread *thread, uint32_t next_event) {
    struct frame *frame = thread_frame(thread);
    if (!frame || frame->branch < 0)
        return;
    int32_t branch = frame->branch;
    frame->branch = -1;
    open_arm(regions, thread, branch, -1, frame->branched, next_event);
}
