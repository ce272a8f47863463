// Puts plans into modules when these are loaded: plans whose stubs hold slots of eight bytes that get an address.
#ifndef WHYPERF_PROBES_LOADED_PLANS_H
#define WHYPERF_PROBES_LOADED_PLANS_H

#include <limits.h>

#include "probes/install.h"

struct loaded_plan {
    struct plan plan; // header is NULL: a free row
    struct installed installed;
};

struct loaded_plans {
    char folder[PATH_MAX]; // with BUILDID.plan
    struct loaded_plan *rows;
    int most;
    // What else must hold of a plan whose module is what was planned for.
    enum probes_reason (*check)(const struct plan *plan, const struct module *module);
    // What a slot gets that holds `held`.
    uint64_t (*value_of)(const struct plan *plan, const struct plan_increment *slot, uint64_t held,
                         const struct installed *where);
    // What became of a module that there is a plan for.
    void (*is_put)(const struct module *module, const struct loaded_plan *row, enum probes_reason reason);
};

// Looks at all modules that are loaded. errno stays as it is.
void loaded_plans_look(const struct loaded_plans *plans);

#endif
