#include "stacks/process.h"
#include "stacks/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The whole of /proc/PID/maps, zero-terminated; NULL with errno.
static char *read_maps(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    size_t capacity = 64 * 1024, size = 0;
    char *text = malloc(capacity);
    ssize_t got = 0;
    while (text && (got = read(fd, text + size, capacity - size - 1)) > 0) {
        size += (size_t)got;
        if (capacity - size < 4096) {
            char *larger = realloc(text, capacity *= 2);
            if (!larger)
                free(text);
            text = larger;
        }
    }
    int error = got < 0 ? errno : text ? 0 : ENOMEM;
    close(fd);
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    text[size] = '\0';
    return text;
}

struct mapping {
    uint64_t start, end, offset, device, inode;
    bool executable;
    char *path;
};

static bool parse_mapping(char *line, struct mapping *mapping) {
    char flags[5];
    unsigned major, minor;
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->start, &mapping->end,
               flags, &mapping->offset, &major, &minor, &mapping->inode, &path) < 7)
        return false;
    mapping->device = (uint64_t)major << 32 | minor;
    mapping->executable = flags[2] == 'x';
    mapping->path = line + path;
    return true;
}

static bool same_file(const struct mapping *a, const struct mapping *b) {
    return a->inode == b->inode && a->device == b->device;
}

static bool is_of_file(const struct mapped_module *module, const struct mapping *mapping) {
    return module->inode == mapping->inode && module->device == mapping->device;
}

static void take_over(struct mapped_module *from, struct mapped_module *to) {
    *to = *from;
    from->path = NULL;
}

static struct mapped_module *known_module(struct process *process, const struct mapping *mapping) {
    for (uint32_t i = 0; i < (process->unwind ? process->unwind->count : 0); i++) {
        struct mapped_module *module = &process->modules[i];
        if (module->path && module->start == mapping->start && module->end == mapping->end &&
            module->file_offset == mapping->offset && is_of_file(module, mapping) &&
            strcmp(module->path, mapping->path) == 0)
            return module;
    }
    return NULL;
}

// Makes a module of an executable mapping whose ELF header lies at `header`; false if it is none.
static bool make_module(struct process *process, struct table_store *store, const struct mapping *mapping,
                        uint64_t header, struct mapped_module *module) {
    struct mapped_module *known = known_module(process, mapping);
    if (known) {
        take_over(known, module);
        return true;
    }
    *module = (struct mapped_module){.start = mapping->start,
                                     .end = mapping->end,
                                     .file_offset = mapping->offset,
                                     .device = mapping->device,
                                     .inode = mapping->inode,
                                     .header = header};
    struct unwind_mapping code = {mapping->start, mapping->offset};
    if (!unwind_image_find(remote_read, &process->pid, header, &code, &module->image))
        return false;
    module->table = table_store_get(store, remote_read, &process->pid, &module->image);
    module->path = module->table ? strdup(mapping->path) : NULL;
    return module->path != NULL;
}

static void free_modules(struct mapped_module *modules, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        free(modules[i].path);
    free(modules);
}

static int replace_modules(struct process *process, struct mapped_module *modules, uint32_t count) {
    struct unwind_modules *unwind = malloc(sizeof *unwind + count * sizeof *unwind->modules);
    if (!unwind)
        return ENOMEM;
    unwind->count = count;
    for (uint32_t i = 0; i < count; i++)
        unwind->modules[i] = (struct unwind_module){.start = modules[i].start,
                                                    .end = modules[i].end,
                                                    .bias = modules[i].image.code_bias,
                                                    .table = modules[i].table->rows};
    process_clear(process);
    process->modules = modules;
    process->unwind = unwind;
    process->refreshed = monotonic_ns();
    return 0;
}

// Of a copy of some of a file's code, which may lie anywhere; 0 if the file itself does not lie below.
static uint64_t header_of(const struct mapping *mapping, const struct mapped_module *modules, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (is_of_file(&modules[i], mapping))
            return modules[i].header;
    return 0;
}

int process_refresh(struct process *process, struct table_store *store) {
    errno = 0;
    char *text = read_maps(process->pid);
    if (!text)
        return errno == ENOENT ? ESRCH : errno;
    // Zombies and kernel threads have no mappings.
    int error = *text ? 0 : ESRCH;
    struct mapped_module *modules = NULL;
    uint32_t count = 0, capacity = 0;
    struct mapping header = {0};
    char *next;
    for (char *line = text; *line && !error; line = next) {
        struct mapping mapping;
        char *newline = strchr(line, '\n');
        next = newline ? newline + 1 : line + strlen(line);
        if (newline)
            *newline = '\0';
        if (!parse_mapping(line, &mapping))
            continue;
        bool is_vdso = strcmp(mapping.path, "[vdso]") == 0;
        if (mapping.inode == 0 && !is_vdso)
            continue;
        // A file's segments follow its ELF header upwards, but for copies.
        if (mapping.offset == 0 || is_vdso)
            header = mapping;
        if (!mapping.executable)
            continue;
        uint64_t header_start = same_file(&header, &mapping) ? header.start : header_of(&mapping, modules, count);
        if (!header_start)
            continue;
        if (count == capacity) {
            struct mapped_module *larger = realloc(modules, (capacity += 64) * sizeof *modules);
            if (!larger) {
                error = ENOMEM;
                break;
            }
            modules = larger;
        }
        errno = 0;
        if (make_module(process, store, &mapping, header_start, &modules[count]))
            count++;
        else if (errno == EPERM || errno == ESRCH)
            error = errno;
    }
    free(text);
    if (!error)
        error = replace_modules(process, modules, count);
    if (error) {
        free_modules(modules, count);
        process_clear(process);
    }
    return error;
}

void process_clear(struct process *process) {
    if (process->unwind)
        free_modules(process->modules, process->unwind->count);
    free(process->unwind);
    process->modules = NULL;
    process->unwind = NULL;
}

const struct mapped_module *process_module(const struct process *process, uint64_t pc) {
    const struct unwind_module *found = process->unwind ? unwind_find_module(process->unwind, pc) : NULL;
    return found ? &process->modules[found - process->unwind->modules] : NULL;
}
