// What the dynamic linker has loaded, and word of every change.
#ifndef WHYPERF_PROBES_MODULES_H
#define WHYPERF_PROBES_MODULES_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "probes/plan.h"

struct module {
    uintptr_t bias; // address minus ELF virtual address
    const ElfW(Phdr) * segments;
    uint32_t segment_count;
    uintptr_t low, high; // of all that is loaded, as addresses
    uintptr_t code_low, code_high;
    uint8_t build_id[PLAN_BUILD_ID_BYTES];
    uint32_t build_id_bytes; // 0: none, or an unusual one
    bool text_relocations;
    const char *path; // empty for the program itself
};

typedef void (*module_fn)(const struct module *module, void *context);

void modules_walk(module_fn visit, void *context);

bool module_holds_code(const struct module *module, uint64_t address, uint64_t bytes);
// In one readable segment: constants may lie beside code, in an executable one.
bool module_holds_bytes(const struct module *module, uint64_t address, uint64_t bytes);
bool module_holds(const struct module *module, uint64_t address);
bool module_is_linker_or_vdso(const struct module *module);

// Has `changed` called whenever libraries were loaded or unloaded, under the dynamic linker's lock and before any code
// of a new one runs. False if it cannot be. At most two may ask for it.
bool modules_watch(void (*changed)(void));

#endif
