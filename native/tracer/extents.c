#include "tracer/extents.h"

#include <stdlib.h>
#include <string.h>

// A program that still reads a freed extent is done long before.
static const u64 GRACE = 100000000;

static u32 class_of(u32 size) {
    u32 class = 3;
    while (class < EXTENT_CLASSES && 1u << class < size)
        class++;
    return class;
}

static struct extent *take_free(struct module_server *server, u32 class) {
    struct extent **link = &server->free[class];
    u64 now = monotonic_ns();
    for (; *link; link = &(*link)->next)
        if (now - (*link)->freed > GRACE) {
            struct extent *found = *link;
            *link = found->next;
            return found;
        }
    return NULL;
}

struct extent *extent_take(struct tracer *tracer, u32 mappings) {
    struct trace_installed *installed = &tracer->globals->installed;
    u32 class = class_of(mappings + 1);
    if (class >= EXTENT_CLASSES)
        return NULL;
    struct extent *extent = take_free(&tracer->server, class);
    if (!extent) {
        if (installed->mappings == 0)
            installed->mappings = 1; // 0 stands for none
        if (TRACE_MAPPINGS - installed->mappings < 1u << class || !(extent = malloc(sizeof *extent)))
            return NULL;
        *extent = (struct extent){.first = installed->mappings, .class = class};
        installed->mappings += 1u << class;
    }
    extent->references = 1;
    extent->next = NULL;
    return extent;
}

u32 extent_fill(struct tracer *tracer, const struct extent *extent, const struct trace_mapping *mappings, u32 count) {
    struct trace_mapping *header = (struct trace_mapping *)tracer->maps[IN_MAPPINGS].memory + extent->first;
    u32 generation = ++tracer->globals->installed.generation;
    memcpy(header + 1, mappings, count * sizeof *mappings);
    header->start = count;
    __atomic_store_n(&header->generation, generation, __ATOMIC_RELEASE);
    return generation;
}

void extent_drop(struct tracer *tracer, struct extent *extent) {
    if (!extent || --extent->references > 0)
        return;
    struct trace_mapping *header = (struct trace_mapping *)tracer->maps[IN_MAPPINGS].memory + extent->first;
    __atomic_store_n(&header->generation, 0, __ATOMIC_RELEASE);
    extent->freed = monotonic_ns();
    extent->next = tracer->server.free[extent->class];
    tracer->server.free[extent->class] = extent;
}

void extents_clear(struct module_server *server) {
    for (u32 class = 0; class < EXTENT_CLASSES; class++)
        while (server->free[class]) {
            struct extent *extent = server->free[class];
            server->free[class] = extent->next;
            free(extent);
        }
}
