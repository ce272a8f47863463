#include "probes/loaded_plans.h"

#include <errno.h>
#include <string.h>

static void fill_slots(const struct plan *plan, const struct installed *where, uint8_t *stubs, void *context) {
    const struct loaded_plans *plans = context;
    for (uint32_t i = 0; i < plan->header->increments; i++) {
        const struct plan_increment *slot = &plan->increments[i];
        uint64_t value;
        memcpy(&value, stubs + slot->at, sizeof value);
        value = plans->value_of(plan, slot, value, where);
        memcpy(stubs + slot->at, &value, sizeof value);
    }
}

static enum probes_reason put(const struct module *module, const struct loaded_plans *plans, struct loaded_plan *row) {
    enum probes_reason reason = install_check(&row->plan, module);
    if (!reason)
        reason = plans->check(&row->plan, module);
    if (!reason)
        reason = install_reserve(&row->plan, module, 0, &row->installed);
    if (!reason)
        reason = install_stubs(&row->plan, &row->installed, fill_slots, (void *)plans);
    return reason ? reason : install_patches(&row->plan, &row->installed);
}

static bool is_in(const struct loaded_plan *row, const struct module *module) {
    const struct plan_header *header = row->plan.header;
    return row->installed.bias == module->bias && header->build_id_bytes == module->build_id_bytes &&
           !memcmp(header->build_id, module->build_id, module->build_id_bytes) &&
           install_is_in_effect(&row->plan, &row->installed);
}

static void look_at(const struct module *module, void *context) {
    const struct loaded_plans *plans = context;
    struct loaded_plan *free_row = NULL;
    for (struct loaded_plan *row = plans->rows; row < plans->rows + plans->most; row++) {
        if (!row->plan.header)
            free_row = row;
        else if (is_in(row, module))
            return;
    }
    if (!free_row)
        return;
    enum probes_reason reason = plan_open(plans->folder, module->build_id, module->build_id_bytes, &free_row->plan);
    if (reason == PROBES_NO_PLAN || reason == PROBES_NO_BUILD_ID)
        return;
    if (!reason)
        reason = put(module, plans, free_row);
    plans->is_put(module, free_row, reason);
    if (reason)
        plan_close(&free_row->plan);
}

void loaded_plans_look(const struct loaded_plans *plans) {
    int saved_errno = errno;
    modules_walk(look_at, (void *)plans);
    errno = saved_errno;
}
