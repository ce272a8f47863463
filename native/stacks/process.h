// What another process has mapped, ready for walking its stacks.
#ifndef WHYPERF_PROCESS_H
#define WHYPERF_PROCESS_H

#include "stacks/tables.h"

#include <sys/types.h>

struct mapped_module {
    uint64_t start, end, file_offset; // the executable mapping
    uint64_t device, inode;
    uint64_t header; // where its file's ELF header is
    char *path;
    struct unwind_image image;
    const struct module_table *table;
};

struct process {
    pid_t pid;
    struct mapped_module *modules; // in the order of unwind->modules
    struct unwind_modules *unwind;
    uint64_t refreshed; // CLOCK_MONOTONIC, ns
    struct process *next;
};

uint64_t monotonic_ns(void);

// Reads the process' mappings anew and gets tables for modules not seen before. 0 or an errno; ESRCH when it is gone.
int process_refresh(struct process *process, struct table_store *store);
void process_clear(struct process *process);

const struct mapped_module *process_module(const struct process *process, uint64_t pc);

#endif
