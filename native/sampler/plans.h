// Plans that lie beside the rings: put into the program's own code when it starts, and into libraries when they are
// loaded.
#ifndef WHYPERF_SAMPLER_PLANS_H
#define WHYPERF_SAMPLER_PLANS_H

#include "probes/loaded_plans.h"

// Whether there is a folder of that name, with plans that `plans` is to look for.
bool plans_folder(struct loaded_plans *plans, const char *name);
// Calls `look` now and whenever libraries were loaded. False if threads run already, which may be in the code.
bool plans_start(void (*look)(void));
void plans_look(const struct loaded_plans *plans);

enum probes_reason plan_has_no_traps(const struct plan *plan, const struct module *module);

#endif
