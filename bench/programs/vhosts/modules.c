#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "vhosts.h"

// Plug-ins lie beside the program.
bool load_modules(struct modules *modules, const char *program) {
    static const char *const names[] = {"mod_types", "mod_rules", "mod_names"};
    const char *slash = strrchr(program, '/');
    int folder = slash ? (int)(slash - program) : 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%.*s/%s.so", folder, slash ? program : ".", names[i]);
        void *library = dlopen(path, RTLD_NOW);
        module_entry *entry = library ? (module_entry *)dlsym(library, "module_of_plugin") : NULL;
        if (!entry) {
            fprintf(stderr, "vhosts: %s\n", dlerror());
            return false;
        }
        modules->module[modules->count++] = entry();
    }
    return true;
}
