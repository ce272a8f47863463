#include "sampler/plans.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/sampler.h"

bool plans_folder(struct loaded_plans *plans, const char *name) {
    const char *path = this_process.session_path, *end = strrchr(path, '/');
    int folder_bytes = end ? (int)(end - path) : 0;
    size_t bytes = (size_t)snprintf(plans->folder, PATH_MAX, "%.*s/%s", folder_bytes, path, name);
    return bytes < PATH_MAX && faccessat(AT_FDCWD, plans->folder, R_OK, 0) == 0;
}

static bool threads_run_already(void) {
    const char *single = dlsym(RTLD_DEFAULT, "__libc_single_threaded"); // since glibc 2.32
    return single && !*single;
}

bool plans_start(void (*look)(void)) {
    if (threads_run_already())
        return false;
    look();
    modules_watch(look);
    return true;
}

void plans_look(const struct loaded_plans *plans) {
    if (this_process.session && !atomic_load(&this_process.no_system_calls))
        loaded_plans_look(plans);
}

enum probes_reason plan_has_no_traps(const struct plan *plan, const struct module *module) {
    (void)module;
    return plan->header->flags & PLAN_HAS_TRAPS ? PROBES_PLAN_DAMAGED : PROBES_DONE;
}
