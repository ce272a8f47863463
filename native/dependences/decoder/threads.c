#include "dependences/decoder/threads.h"

#define THREADS_MOST (1u << 20)

struct thread *threads_get(struct regions *regions, uint32_t number) {
    while (regions->threads.count <= number && number < THREADS_MOST) {
        struct thread *thread = column_add(&regions->threads, sizeof *thread);
        if (!thread) {
            regions->no_memory = true;
            return NULL;
        }
        *thread = (struct thread){0};
    }
    return number < regions->threads.count ? (struct thread *)regions->threads.data + number : NULL;
}

struct frame *thread_frame(struct thread *thread) {
    return thread->frames.count ? (struct frame *)thread->frames.data + thread->frames.count - 1 : NULL;
}

struct open *thread_open(struct thread *thread, const struct frame *frame) {
    return thread->opens.count > frame->base ? (struct open *)thread->opens.data + thread->opens.count - 1 : NULL;
}

uint32_t thread_region(struct thread *thread) {
    const struct frame *frame = thread_frame(thread);
    if (!frame)
        return 0;
    const struct open *open = thread_open(thread, frame);
    return open ? open->region : frame->region;
}

struct region *region_add(struct regions *regions, uint8_t kind, uint32_t parent, int32_t place, int32_t arm,
                          uint32_t event, uint32_t first) {
    struct region *region = column_add(&regions->regions, sizeof *region);
    if (!region) {
        regions->no_memory = true;
        return NULL;
    }
    *region = (struct region){.parent = parent,
                              .place = place,
                              .arm = arm,
                              .event = event,
                              .thread = regions->thread,
                              .first = first,
                              .kind = kind};
    return region;
}

struct frame *frame_add(struct regions *regions, struct thread *thread, uint8_t kind, uint32_t region) {
    struct frame *frame = column_add(&thread->frames, sizeof *frame);
    if (!frame) {
        regions->no_memory = true;
        return NULL;
    }
    *frame = (struct frame){.region = region, .base = thread->opens.count, .branch = -1, .kind = kind};
    return frame;
}

struct open *open_add(struct regions *regions, struct thread *thread, struct open open) {
    struct open *added = column_add(&thread->opens, sizeof *added);
    if (!added) {
        regions->no_memory = true;
        return NULL;
    }
    *added = open;
    return added;
}
