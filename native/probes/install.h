// Puts a plan's stubs near a module and has the module's code lead there.
#ifndef WHYPERF_PROBES_INSTALL_H
#define WHYPERF_PROBES_INSTALL_H

#include "probes/modules.h"
#include "probes/plan.h"

struct installed {
    uintptr_t bias; // of the module that it was made for
    uint8_t *stubs;
    uint8_t *data; // page-aligned memory behind the stubs, inaccessible so far
    size_t stub_bytes, data_bytes;
};

// Completes stubs that are about to be placed at `address`.
typedef void (*complete_fn)(const struct plan *plan, const struct installed *where, uint8_t *stubs, void *context);

// Whether the module's code is what was planned for: each byte is compared, and nothing is changed.
enum probes_reason install_check(const struct plan *plan, const struct module *module);

// Reserves the memory. Nothing leads there yet.
enum probes_reason install_reserve(const struct plan *plan, const struct module *module, size_t data_bytes,
                                   struct installed *installed);
enum probes_reason install_stubs(const struct plan *plan, const struct installed *installed, complete_fn complete,
                                 void *context);
// What one patch writes; false: the stubs are out of its reach.
bool install_patched(const struct plan_patch *patch, const struct installed *installed, uint8_t new[PLAN_OLD_BYTES]);
// Has the code lead to the stubs, all of it or none.
enum probes_reason install_patches(const struct plan *plan, const struct installed *installed);
// Has the code be as it was: what was restored before stays so.
bool install_restore(const struct plan *plan, const struct installed *installed);

// Whether the code at the module's place leads to the stubs; if not, it was loaded anew since.
bool install_is_in_effect(const struct plan *plan, const struct installed *installed);
void install_release(struct installed *installed);

#endif
