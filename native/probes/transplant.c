// Runs functions of another build in place of a program's own, by plans that whyperf/debuginfo/transplants made.
//
// Preloaded. WHYPERF_TRANSPLANT_PLANS names the folder with BUILDID.plan, WHYPERF_TRANSPLANT_OUT the file that says
// what became of them. A plan's stubs are a copy of the other build's code and constants; its increments are slots of
// eight bytes in them that get an address. A module is changed before any of its code runs.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probes/environment.h"
#include "probes/install.h"
#include "probes/sandbox.h"
#include "sampler/raw.h"

enum { MOST_MODULES = 16 };
enum slot_kind {
    SLOT_SYMBOL = 0, // gets the address of the symbol whose name follows
    SLOT_MODULE = 1, // holds an address in the module
    SLOT_FRAMES = 2, // no slot: unwind information begins there
};

static const char plans_variable[] = "WHYPERF_TRANSPLANT_PLANS=", out_variable[] = "WHYPERF_TRANSPLANT_OUT=";

struct transplanted {
    struct plan plan; // header is NULL: a free row
    struct installed installed;
};

static struct {
    char plans[PATH_MAX], out[PATH_MAX];
    struct transplanted modules[MOST_MODULES];
} transplants;

// The name behind a slot; NULL if it does not end within the copy.
static const char *name_of(const struct plan *plan, const struct plan_increment *slot) {
    uint32_t at = slot->at + (uint32_t)sizeof(uint64_t);
    if (at >= plan->header->stub_bytes || !memchr(plan->stubs + at, '\0', plan->header->stub_bytes - at))
        return NULL;
    return (const char *)plan->stubs + at;
}

// Whether all symbols are there.
static enum probes_reason check_slots(const struct plan *plan) {
    for (uint32_t i = 0; i < plan->header->increments; i++) {
        const struct plan_increment *slot = &plan->increments[i];
        const char *name = name_of(plan, slot);
        if (!name)
            return PROBES_PLAN_DAMAGED;
        if (slot->counter == SLOT_SYMBOL && !dlsym(RTLD_DEFAULT, name))
            return PROBES_NO_SYMBOL;
    }
    return PROBES_DONE;
}

static void fill_slots(const struct plan *plan, const struct installed *where, uint8_t *stubs, void *context) {
    (void)context;
    for (uint32_t i = 0; i < plan->header->increments; i++) {
        const struct plan_increment *slot = &plan->increments[i];
        uint64_t value;
        memcpy(&value, stubs + slot->at, sizeof value);
        if (slot->counter == SLOT_SYMBOL)
            value = (uintptr_t)dlsym(RTLD_DEFAULT, name_of(plan, slot));
        else if (slot->counter == SLOT_MODULE)
            value += where->bias;
        memcpy(stubs + slot->at, &value, sizeof value);
    }
}

// Exceptions pass through the copy: the run-time library of C++ finds its unwind information. Without that library
// nobody throws.
static void register_frames(const struct plan *plan, const struct installed *where) {
    void (*add)(const void *) = (void (*)(const void *))(uintptr_t)dlsym(RTLD_DEFAULT, "__register_frame");
    for (uint32_t i = 0; i < plan->header->increments && add; i++)
        if (plan->increments[i].counter == SLOT_FRAMES)
            add(where->stubs + plan->increments[i].at);
}

static enum probes_reason transplant(const struct module *module, struct transplanted *row) {
    enum probes_reason reason = install_check(&row->plan, module);
    if (!reason)
        reason = check_slots(&row->plan);
    if (!reason)
        reason = install_reserve(&row->plan, module, 0, &row->installed);
    if (!reason)
        reason = install_stubs(&row->plan, &row->installed, fill_slots, NULL);
    if (!reason)
        reason = install_patches(&row->plan, &row->installed);
    if (!reason)
        register_frames(&row->plan, &row->installed);
    return reason;
}

// One line for each module: its build-id, and the reason why it was not changed.
static void note(const struct module *module, enum probes_reason reason) {
    char line[2 * PLAN_BUILD_ID_BYTES + 32];
    int length = 0;
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, "%02x", module->build_id[i]);
    length += snprintf(line + length, sizeof line - (size_t)length, " %d\n", (int)reason);
    int fd = raw_open(transplants.out, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0)
        return;
    raw_write(fd, line, (size_t)length);
    raw_close(fd);
}

static bool is_in(const struct transplanted *row, const struct module *module) {
    const struct plan_header *header = row->plan.header;
    return row->installed.bias == module->bias && header->build_id_bytes == module->build_id_bytes &&
           !memcmp(header->build_id, module->build_id, module->build_id_bytes) &&
           install_is_in_effect(&row->plan, &row->installed);
}

static void look_at(const struct module *module, void *context) {
    (void)context;
    struct transplanted *free_row = NULL;
    for (struct transplanted *row = transplants.modules; row < transplants.modules + MOST_MODULES; row++) {
        if (!row->plan.header)
            free_row = row;
        else if (is_in(row, module))
            return;
    }
    if (!free_row)
        return;
    enum probes_reason reason = plan_open(transplants.plans, module->build_id, module->build_id_bytes, &free_row->plan);
    if (reason == PROBES_NO_PLAN || reason == PROBES_NO_BUILD_ID)
        return;
    if (!reason)
        reason = transplant(module, free_row);
    note(module, reason);
    if (reason)
        plan_close(&free_row->plan);
}

static void look(void) {
    int saved_errno = errno;
    if (!sandbox_forbids_system_calls())
        modules_walk(look_at, NULL);
    errno = saved_errno;
}

__attribute__((constructor)) static void start(int argument_count, char **arguments, char **environment) {
    (void)argument_count, (void)arguments;
    const char *plans = environment_value(environment, plans_variable),
               *out = environment_value(environment, out_variable);
    if (!plans || !out || strlen(plans) >= sizeof transplants.plans || strlen(out) >= sizeof transplants.out)
        return;
    strcpy(transplants.plans, plans);
    strcpy(transplants.out, out);
    look();
    modules_watch(look);
}
