// The memory that programs and loader share.
#include "tracer/open.h"
#include "tracer/processes.h"
#include "tracer/serve.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *tracer_map_name(enum tracer_map map) {
    static const char *const NAMES[TRACER_MAPS] = {
        [IN_RING] = "ring",         [IN_CPUS] = "cpus",       [IN_PAGES] = "pages",         [IN_INTERNED] = "interned",
        [IN_SHED] = "shed",         [IN_RULES] = "rules",     [IN_MAPPINGS] = "mappings",   [IN_GLOBALS] = "globals",
        [IN_SETTINGS] = "settings", [IN_CHUNKS] = "chunks",   [IN_PROCESSES] = "processes", [IN_BEGUN] = "begun",
        [IN_HOLDERS] = "holders",   [IN_NOTICES] = "notices", [IN_TASKS] = "tasks",
    };
    return NAMES[map];
}

static int map_one(struct shared_map *map, int protection) {
    struct bpf_map_info info = {0};
    u32 length = sizeof info;
    if (bpf_obj_get_info_by_fd(map->fd, &info, &length))
        return errno;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t element = ((size_t)info.value_size + 7) / 8 * 8;
    map->size = (element * info.max_entries + page - 1) / page * page;
    map->memory = mmap(NULL, map->size, protection, MAP_SHARED, map->fd, 0);
    if (map->memory == MAP_FAILED) {
        map->memory = NULL;
        return errno;
    }
    return 0;
}

int tracer_map_shared(struct tracer *tracer, char text[TRACER_TEXT]) {
    for (int i = 0; i < MAPPED_MAPS; i++) {
        int error = map_one(&tracer->maps[i], i == IN_SETTINGS ? PROT_READ : PROT_READ | PROT_WRITE);
        if (error) {
            snprintf(text, TRACER_TEXT, "the tracer's %s cannot be mapped", tracer_map_name((enum tracer_map)i));
            return error;
        }
    }
    tracer->settings = tracer_settings(tracer->maps[IN_SETTINGS].memory);
    tracer->globals = tracer_globals(tracer->maps[IN_GLOBALS].memory);
    if (tracer->settings->layout != TRACE_LAYOUT) {
        snprintf(text, TRACER_TEXT, "another version of whyperf made it");
        return EPROTO;
    }
    tracer->positions = calloc(tracer->settings->cpus, sizeof *tracer->positions);
    if (!tracer->positions)
        return ENOMEM;
    return 0;
}

void tracer_unmap(struct tracer *tracer) {
    for (int i = 0; i < TRACER_MAPS; i++) {
        if (tracer->maps[i].memory)
            munmap(tracer->maps[i].memory, tracer->maps[i].size);
        if (tracer->maps[i].fd >= 0)
            close(tracer->maps[i].fd);
        tracer->maps[i] = (struct shared_map){.fd = -1};
    }
    free(tracer->positions);
    free(tracer->received);
    tracer->positions = NULL;
    tracer->received = NULL;
    tracer->settings = NULL;
    tracer->globals = NULL;
}

static u32 program_id(int fd) {
    struct bpf_prog_info info = {0};
    u32 length = sizeof info;
    return bpf_obj_get_info_by_fd(fd, &info, &length) ? 0 : info.id;
}

void tracer_keep_program(struct tracer *tracer, int fd) {
    bool known = fd < 0 || tracer->program_count == TRACER_PROGRAMS;
    for (u32 i = 0; i < tracer->program_count && !known; i++)
        known = program_id(tracer->program_fds[i]) == program_id(fd);
    if (!known)
        tracer->program_fds[tracer->program_count++] = fd;
    else if (fd >= 0)
        close(fd);
}

void tracer_close(struct tracer *tracer) {
    if (tracer->globals && !tracer->pinned)
        tracer->globals->running = 0;
    for (u32 i = 0; i < tracer->link_count; i++) {
        // libbpf switches a clock off when its link goes, pinned or not.
        if (tracer->pinned)
            bpf_link__disconnect(tracer->links[i]);
        bpf_link__destroy(tracer->links[i]);
    }
    for (u32 i = 0; i < tracer->flag_count; i++)
        close(tracer->flag_links[i]);
    if (tracer->flag_program > 0)
        close(tracer->flag_program);
    if (tracer->task_program > 0)
        close(tracer->task_program);
    free(tracer->flag_links);
    tracer->flag_links = NULL;
    tracer->flag_count = 0;
    free(tracer->links);
    tracer->links = NULL;
    tracer->link_count = 0;
    for (u32 i = 0; i < tracer->program_count; i++)
        close(tracer->program_fds[i]);
    tracer->program_count = 0;
    notices_clear(tracer);
    module_server_clear(tracer);
    tracer_unmap(tracer);
}
