#include "session/living.h"

#include <stdlib.h>
#include <string.h>

// A producer that announces modules without end must not fill the recorder's memory.
enum { MAX_MODULES = 4096 };

static const struct whyperf_module *module_of(const struct whyperf_record *record) {
    return record_payload(record);
}

static struct whyperf_record *copy_of(const struct whyperf_record *record) {
    struct whyperf_record *copy = malloc(record_bytes(record));
    if (copy)
        memcpy(copy, record, record_bytes(record));
    return copy;
}

static void forget_modules(struct living_process *process) {
    for (size_t i = 0; i < process->module_count; i++)
        free(process->modules[i]);
    process->module_count = 0;
}

static void release_process(struct living_process *process) {
    forget_modules(process);
    free(process->modules);
    free(process->introduction);
}

void living_release(struct living *living) {
    for (size_t i = 0; i < living->count; i++)
        release_process(&living->processes[i]);
    free(living->processes);
    memset(living, 0, sizeof *living);
}

static size_t place_of(const struct living *living, uint32_t pid) {
    size_t low = 0, high = living->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (living->processes[middle].owner.pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct living_process *living_find(const struct living *living, uint32_t pid) {
    size_t at = place_of(living, pid);
    return at < living->count && living->processes[at].owner.pid == pid ? &living->processes[at] : NULL;
}

static struct living_process *find_or_add(struct living *living, uint32_t pid) {
    struct living_process *known = living_find(living, pid);
    if (known)
        return known;
    if (living->count == living->capacity) {
        size_t capacity = living->capacity ? living->capacity * 2 : 64;
        struct living_process *processes = realloc(living->processes, capacity * sizeof *processes);
        if (!processes)
            return NULL;
        living->processes = processes;
        living->capacity = capacity;
    }
    size_t at = place_of(living, pid);
    memmove(living->processes + at + 1, living->processes + at, (living->count - at) * sizeof *living->processes);
    living->count++;
    living->processes[at] = (struct living_process){.owner = {.pid = pid}};
    return &living->processes[at];
}

static void forget_overlapping(struct living_process *process, uint64_t start, uint64_t end) {
    size_t kept = 0;
    for (size_t i = 0; i < process->module_count; i++) {
        const struct whyperf_module *module = module_of(process->modules[i]);
        if (module->start < end && start < module->end)
            free(process->modules[i]);
        else
            process->modules[kept++] = process->modules[i];
    }
    process->module_count = kept;
}

static bool add_module(struct living_process *process, const struct whyperf_record *record) {
    forget_overlapping(process, module_of(record)->start, module_of(record)->end);
    if (process->module_count == MAX_MODULES)
        return true;
    if (process->module_count == process->module_capacity) {
        size_t capacity = process->module_capacity ? process->module_capacity * 2 : 16;
        struct whyperf_record **modules = realloc(process->modules, capacity * sizeof(struct whyperf_record *));
        if (!modules)
            return false;
        process->modules = modules;
        process->module_capacity = capacity;
    }
    struct whyperf_record *copy = copy_of(record);
    if (!copy)
        return false;
    process->modules[process->module_count++] = copy;
    return true;
}

// A forked process has its parent's modules, from its own beginning on.
static bool inherit_modules(struct living *living, struct living_process *child, uint32_t parent_pid) {
    const struct living_process *parent = living_find(living, parent_pid);
    if (!parent || parent == child)
        return true;
    for (size_t i = 0; i < parent->module_count; i++) {
        if (!add_module(child, parent->modules[i]))
            return false;
        child->modules[child->module_count - 1]->time = child->introduction->time;
    }
    return true;
}

static bool introduce(struct living *living, const struct ring_header *owner, const struct whyperf_record *record) {
    const struct whyperf_process *about = record_payload(record);
    struct whyperf_record *introduction = copy_of(record);
    struct living_process *process = introduction ? find_or_add(living, owner->pid) : NULL;
    if (!process) {
        free(introduction);
        return false;
    }
    free(process->introduction);
    process->introduction = introduction;
    process->owner = *owner;
    process->exec_sequence = about->origin == WHYPERF_ORIGIN_EXEC ? owner->sequence : 0;
    forget_modules(process);
    return about->origin == WHYPERF_ORIGIN_FORK ? inherit_modules(living, process, about->ppid) : true;
}

bool living_note(struct living *living, const struct ring_header *owner, const struct whyperf_record *record) {
    if (record->kind == WHYPERF_RECORD_PROCESS)
        return introduce(living, owner, record);
    struct living_process *process = living_find(living, owner->pid);
    if (!process || owner->sequence < process->exec_sequence)
        return true;
    if (record->kind == WHYPERF_RECORD_MODULE)
        return add_module(process, record);
    if (record->kind == WHYPERF_RECORD_MODULE_GONE) {
        uint64_t start = *(const uint64_t *)record_payload(record);
        forget_overlapping(process, start, start + 1);
    }
    return true;
}

void living_forget_unseen(struct living *living) {
    size_t kept = 0;
    for (size_t i = 0; i < living->count; i++) {
        if (living->processes[i].seen)
            living->processes[kept++] = living->processes[i];
        else
            release_process(&living->processes[i]);
    }
    living->count = kept;
}
