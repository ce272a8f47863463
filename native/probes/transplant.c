// Runs functions of another build in place of a program's own, and has variables begin with another build's values, by
// plans that whyperf/debuginfo/transplants made.
//
// Preloaded. WHYPERF_TRANSPLANT_PLANS names the folder with BUILDID.plan, WHYPERF_TRANSPLANT_OUT the file that says
// what became of them. A plan's stubs are a copy of the other build's code and constants; its increments are slots of
// eight bytes in them that get an address. A module is changed before any of its code runs.
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probes/environment.h"
#include "probes/loaded_plans.h"
#include "probes/memory.h"
#include "probes/sandbox.h"
#include "sampler/raw.h"

enum { MOST_MODULES = 16 };
enum slot_kind {
    SLOT_SYMBOL = 0,  // gets the address of the symbol whose name follows
    SLOT_MODULE = 1,  // holds an address in the module
    SLOT_FRAMES = 2,  // no slot: unwind information begins there
    SLOT_INITIAL = 3, // no slot: a `struct initial` is there
};

// What a variable begins with: behind it come the bytes that the file has for it, then those that it gets.
struct initial {
    uint64_t at; // ELF virtual address
    uint32_t bytes, zero;
};

static const char plans_variable[] = "WHYPERF_TRANSPLANT_PLANS=", out_variable[] = "WHYPERF_TRANSPLANT_OUT=";

static char out_file[PATH_MAX];

// The name behind a slot; NULL if it does not end within the copy.
static const char *name_of(const struct plan *plan, const struct plan_increment *slot) {
    uint32_t at = slot->at + (uint32_t)sizeof(uint64_t);
    if (at >= plan->header->stub_bytes || !memchr(plan->stubs + at, '\0', plan->header->stub_bytes - at))
        return NULL;
    return (const char *)plan->stubs + at;
}

// Where a variable's new bytes are in the plan; NULL unless all of it is sound, and the module still has the old ones.
static const uint8_t *new_bytes(const struct plan *plan, const struct plan_increment *slot, const struct module *module,
                                struct initial *initial) {
    uint64_t room = plan->header->stub_bytes - slot->at;
    if (room < sizeof *initial)
        return NULL;
    memcpy(initial, plan->stubs + slot->at, sizeof *initial);
    const uint8_t *old = plan->stubs + slot->at + sizeof *initial;
    if (room - sizeof *initial < 2 * (uint64_t)initial->bytes ||
        !module_holds_bytes(module, initial->at, initial->bytes) ||
        memcmp((const void *)(module->bias + initial->at), old, initial->bytes) != 0)
        return NULL;
    return old + initial->bytes;
}

// Whether all symbols are there, and all variables as they were planned for.
static enum probes_reason check_slots(const struct plan *plan, const struct module *module) {
    for (uint32_t i = 0; i < plan->header->increments; i++) {
        const struct plan_increment *slot = &plan->increments[i];
        const char *name = name_of(plan, slot);
        struct initial initial;
        if (!name)
            return PROBES_PLAN_DAMAGED;
        if (slot->counter == SLOT_SYMBOL && !dlsym(RTLD_DEFAULT, name))
            return PROBES_NO_SYMBOL;
        if (slot->counter == SLOT_INITIAL && !new_bytes(plan, slot, module, &initial))
            return PROBES_OTHER_CODE;
    }
    return PROBES_DONE;
}

static uint64_t value_of(const struct plan *plan, const struct plan_increment *slot, uint64_t held,
                         const struct installed *where) {
    if (slot->counter == SLOT_SYMBOL)
        return (uintptr_t)dlsym(RTLD_DEFAULT, name_of(plan, slot));
    return slot->counter == SLOT_MODULE ? held + where->bias : held;
}

// Exceptions pass through the copy: the run-time library of C++ finds its unwind information. Without that library
// nobody throws.
static void register_frames(const struct plan *plan, const struct installed *where) {
    void (*add)(const void *) = (void (*)(const void *))(uintptr_t)dlsym(RTLD_DEFAULT, "__register_frame");
    for (uint32_t i = 0; i < plan->header->increments && add; i++)
        if (plan->increments[i].counter == SLOT_FRAMES)
            add(where->stubs + plan->increments[i].at);
}

static enum probes_reason put_initial_values(const struct plan *plan, const struct module *module) {
    for (uint32_t i = 0; i < plan->header->increments; i++) {
        if (plan->increments[i].counter != SLOT_INITIAL)
            continue;
        struct initial initial;
        const uint8_t *new = new_bytes(plan, &plan->increments[i], module, &initial);
        if (!new || !memory_overwrite(module->bias + initial.at, new, new - initial.bytes, initial.bytes))
            return PROBES_NOT_WRITABLE;
    }
    return PROBES_DONE;
}

// One line for each module: its build-id, and the reason why it was not changed.
static void note(const struct module *module, enum probes_reason reason) {
    char line[2 * PLAN_BUILD_ID_BYTES + 32];
    int length = 0;
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, "%02x", module->build_id[i]);
    length += snprintf(line + length, sizeof line - (size_t)length, " %d\n", (int)reason);
    int fd = raw_open(out_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0)
        return;
    raw_write(fd, line, (size_t)length);
    raw_close(fd);
}

static void is_put(const struct module *module, const struct loaded_plan *row, enum probes_reason reason) {
    if (!reason) {
        register_frames(&row->plan, &row->installed);
        reason = put_initial_values(&row->plan, module);
    }
    note(module, reason);
}

static struct loaded_plan rows[MOST_MODULES];
static struct loaded_plans transplants = {
    .rows = rows, .most = MOST_MODULES, .check = check_slots, .value_of = value_of, .is_put = is_put};

static void look(void) {
    if (!sandbox_forbids_system_calls())
        loaded_plans_look(&transplants);
}

__attribute__((constructor)) static void start(int argument_count, char **arguments, char **environment) {
    (void)argument_count, (void)arguments;
    const char *plans = environment_value(environment, plans_variable),
               *out = environment_value(environment, out_variable);
    if (!plans || !out || strlen(plans) >= sizeof transplants.folder || strlen(out) >= sizeof out_file)
        return;
    strcpy(transplants.folder, plans);
    strcpy(out_file, out);
    look();
    modules_watch(look);
}
