#include "tracer/processes.h"
#include "tracer/extents.h"
#include "tracer/rows.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct served_process **bucket_of(struct tracer *tracer, u32 pid) {
    return &tracer->server.processes[pid % PROCESS_BUCKETS];
}

static struct served_process *find_process(struct tracer *tracer, u32 pid) {
    struct served_process *process = *bucket_of(tracer, pid);
    while (process && process->modules.pid != (pid_t)pid)
        process = process->next;
    return process;
}

struct served_process *find_or_add(struct tracer *tracer, u32 pid) {
    struct served_process *process = find_process(tracer, pid);
    if (process || !(process = calloc(1, sizeof *process)))
        return process;
    struct served_process **bucket = bucket_of(tracer, pid);
    process->modules.pid = (pid_t)pid;
    process->next = *bucket;
    *bucket = process;
    return process;
}

static void forget_process(struct tracer *tracer, u32 pid) {
    for (struct served_process **link = bucket_of(tracer, pid); *link; link = &(*link)->next)
        if ((*link)->modules.pid == (pid_t)pid) {
            struct served_process *process = *link;
            *link = process->next;
            extent_drop(tracer, process->extent);
            process_clear(&process->modules);
            free(process);
            return;
        }
}

// One mapping for every part of a module's table that reaches into it.
static u32 mappings_of(struct tracer *tracer, const struct process *process, struct trace_mapping *mappings,
                       u32 capacity) {
    u32 count = 0;
    for (u32 i = 0; i < process->unwind->count; i++) {
        const struct mapped_module *module = &process->modules[i];
        const struct installed_table *table = install_table(tracer, module->table);
        for (u32 j = 0; table && j < table->part_count; j++) {
            const struct installed_part *part = &table->parts[j];
            u64 bias = module->image.code_bias, start = part->from + bias, end = part->to + bias;
            // Code before, between and after the parts has no unwind information, but belongs to the module.
            if (j == 0)
                start = module->start;
            end = j + 1 < table->part_count ? table->parts[j + 1].from + bias : module->end;
            if (start < module->start)
                start = module->start;
            if (end > module->end)
                end = module->end;
            if (start >= end || count == capacity)
                continue;
            mappings[count++] = (struct trace_mapping){
                .start = start,
                .end = end,
                .bias = bias,
                .chunk = part->chunk,
                .first = part->first,
                .first_bucket = part->first_bucket,
                .buckets = part->buckets,
            };
        }
    }
    return count;
}

// Hands the process' modules to the programs; its scope stays what it is.
static int publish(struct tracer *tracer, struct served_process *process) {
    enum { MOST = 4096 };
    struct trace_mapping *mappings = malloc(MOST * sizeof *mappings);
    if (!mappings)
        return ENOMEM;
    u32 count = mappings_of(tracer, &process->modules, mappings, MOST);
    struct extent *extent = extent_take(tracer, count);
    struct trace_process known = {.patience = process->patience};
    u32 pid = (u32)process->modules.pid;
    if (!extent) {
        tracer->server.mappings_without_room++;
        free(mappings);
        return ENOSPC;
    }
    known.generation = extent_fill(tracer, extent, mappings, count);
    known.extent = extent->first;
    free(mappings);
    struct trace_process before;
    int fd = tracer->maps[IN_PROCESSES].fd;
    if (bpf_map_lookup_elem(fd, &pid, &before) == 0) {
        known.scope = before.scope;
        known.reported = before.reported;
    }
    if (bpf_map_update_elem(fd, &pid, &known, BPF_ANY)) {
        int error = errno;
        extent_drop(tracer, extent);
        return error;
    }
    extent_drop(tracer, process->extent);
    process->extent = extent;
    return 0;
}

int learn_process(struct tracer *tracer, u32 pid, const struct served_process **known) {
    struct served_process *process = find_or_add(tracer, pid);
    if (!process)
        return ENOMEM;
    // A process that has just died has no mappings any more: what is known of it stays.
    int error = process_refresh(&process->modules, &tracer->server.tables);
    if (error) {
        if (error != ESRCH)
            tracer->server.unreadable_processes++;
        return error;
    }
    *known = process;
    return publish(tracer, process);
}

int set_scope(struct tracer *tracer, u32 pid, u32 given, u32 taken) {
    struct trace_process process = {0};
    int fd = tracer->maps[IN_PROCESSES].fd;
    bpf_map_lookup_elem(fd, &pid, &process);
    process.scope = (process.scope & ~taken) | given;
    return bpf_map_update_elem(fd, &pid, &process, BPF_ANY) ? errno : 0;
}

// The child shares what its parent had mapped; the programs have copied that already.
void inherit_modules(struct tracer *tracer, const struct served *notice) {
    struct served_process *parent = find_process(tracer, notice->pid);
    struct trace_process child;
    if (!parent || !parent->extent || bpf_map_lookup_elem(tracer->maps[IN_PROCESSES].fd, &notice->child, &child) ||
        child.extent != parent->extent->first)
        return;
    struct served_process *process = find_or_add(tracer, notice->child);
    if (!process || process->extent)
        return;
    parent->extent->references++;
    process->extent = parent->extent;
}

void bury_process(struct tracer *tracer, u32 pid) {
    struct trace_process process;
    int fd = tracer->maps[IN_PROCESSES].fd;
    // Unless another one has got its number meanwhile.
    if (bpf_map_lookup_elem(fd, &pid, &process) == 0) {
        if (!(process.scope & TRACE_GONE))
            return;
        bpf_map_delete_elem(fd, &pid);
    }
    forget_process(tracer, pid);
}

void bury_all_gone(struct tracer *tracer) {
    int fd = tracer->maps[IN_PROCESSES].fd;
    u32 pid, next;
    bool more = bpf_map_get_next_key(fd, NULL, &pid) == 0;
    while (more) {
        // A key that was removed has no next one.
        more = bpf_map_get_next_key(fd, &pid, &next) == 0;
        struct trace_process process;
        if (bpf_map_lookup_elem(fd, &pid, &process) == 0 && process.scope & TRACE_GONE)
            bury_process(tracer, pid);
        pid = next;
    }
}

void module_server_clear(struct tracer *tracer) {
    struct module_server *server = &tracer->server;
    // The programs may outlive this server: what it told them stays valid.
    for (u32 i = 0; i < PROCESS_BUCKETS; i++)
        while (server->processes[i]) {
            struct served_process *process = server->processes[i];
            server->processes[i] = process->next;
            if (process->extent && --process->extent->references == 0)
                free(process->extent);
            process_clear(&process->modules);
            free(process);
        }
    extents_clear(server);
    while (server->installed) {
        struct installed_table *table = server->installed;
        server->installed = table->next;
        free(table->parts);
        free(table);
    }
    for (u32 i = 0; i < TRACE_CHUNKS; i++)
        if (server->chunks[i].entries) {
            munmap(server->chunks[i].entries, TRACE_CHUNK_ENTRIES * sizeof(union trace_entry));
            close(server->chunks[i].fd);
        }
    table_store_clear(&server->tables);
    free(server->tables.folder);
    *server = (struct module_server){0};
}
