// What a log file must repeat to be readable alone: who the living processes are and where their modules lie.
#ifndef WHYPERF_LIVING_H
#define WHYPERF_LIVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/records.h"

struct living_process {
    struct ring_header owner; // of the thread that introduced it
    uint64_t exec_sequence;   // that owner's sequence if the process came about by exec, else 0
    struct whyperf_record *introduction;
    struct whyperf_record **modules;
    size_t module_count, module_capacity;
    bool seen;
};

// Sorted by pid.
struct living {
    struct living_process *processes;
    size_t count, capacity;
};

void living_release(struct living *living);
struct living_process *living_find(const struct living *living, uint32_t pid);

// Takes note of a PROCESS, MODULE or MODULE_GONE record, others are ignored. False when memory ran out.
bool living_note(struct living *living, const struct ring_header *owner, const struct whyperf_record *record);

// Forgets processes for which `seen` is not set.
void living_forget_unseen(struct living *living);

#endif
