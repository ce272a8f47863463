#include "observation/places.h"

#include <stdatomic.h>
#include <string.h>

#include "observation/record_file.h"
#include "observation/registers.h"
#include "probes/code.h"
#include "probes/install.h"
#include "probes/memory.h"

enum { MODULES = 256 };

struct observed {
    _Atomic bool in; // all of the rest is valid, and the module loaded
    bool seen;
    struct installed installed;
    uintptr_t code_low, code_high;
    uint8_t build_id[PLAN_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    uint32_t first, count; // of `places`, by address
    uint32_t first_row, first_value;
    uint32_t rows, values;
};

static struct {
    struct observed modules[MODULES];
    _Atomic uint32_t module_count;
    struct place places[SITE_MOST];
    struct site_row rows[SITE_MOST];
    uint64_t values[SITE_MOST_VALUES];
    uint32_t place_count, row_count, value_count;
} this;

static struct observed *known(const struct module *module) {
    for (struct observed *one = this.modules; one < this.modules + atomic_load(&this.module_count); one++)
        if (one->build_id_bytes == module->build_id_bytes &&
            !memcmp(one->build_id, module->build_id, module->build_id_bytes))
            return one;
    return NULL;
}

static bool text_is_ours(const struct place *place) {
    return memcmp((const void *)place->at, place->put, place->bytes) == 0;
}

bool places_are_in(const struct module *module) {
    struct observed *observed = known(module);
    if (!observed || !atomic_load(&observed->in) || observed->installed.bias != module->bias)
        return false;
    // Disarmed ones do not tell: another copy of the file that was loaded to the same place since looks alike.
    for (uint32_t i = 0; i < observed->count; i++) {
        const struct place *place = &this.places[observed->first + i];
        uint32_t leader = record_file_site(place->rows->site)->first;
        if (atomic_load(&record_file_site(leader)->armed) && !text_is_ours(place))
            return false;
    }
    observed->seen = true;
    return true;
}

static void leave_stubs(const struct plan *plan, const struct installed *where, uint8_t *stubs, void *context) {
    (void)plan, (void)where, (void)stubs, (void)context;
}

static void note_sites(const struct place *place) {
    for (uint32_t i = 0; i < place->row_count; i++) {
        struct record_site *site = record_file_site(place->rows[i].site);
        site->address = place->at;
        site->first = place->rows->site;
        site->bytes = place->bytes;
        site->is_trap = place->is_trap;
        memcpy(site->old, place->old, sizeof site->old);
        atomic_store(&site->armed_until, place->armed_for);
        atomic_store(&site->armed, 1);
    }
}

static struct place made(const struct plan_patch *patch, const struct installed *installed,
                         const struct site_file_header *limits) {
    struct place place = {
        .at = installed->bias + patch->at,
        .stub = (uintptr_t)installed->stubs + patch->stub,
        .bias = installed->bias,
        .armed_for = limits->traps,
        .record_limit = limits->records ? limits->records : 1,
        .bytes = patch->size,
        .is_trap = patch->kind == PATCH_TRAP,
    };
    memcpy(place.old, patch->old, sizeof place.old);
    install_patched(patch, installed, place.put);
    return place;
}

static void fill(struct observed *observed, const struct plan *plan, const struct site_file *file) {
    uint32_t row = 0;
    struct site_row *rows = &this.rows[observed->first_row];
    memcpy(rows, file->rows, file->header->rows * sizeof *rows);
    memcpy(&this.values[observed->first_value], file->values, file->header->values * sizeof *file->values);
    for (uint32_t i = 0; i < plan->header->patches; i++) {
        struct place *place = &this.places[observed->first + i];
        *place = made(&plan->patches[i], &observed->installed, file->header);
        place->rows = &rows[row];
        for (; row < file->header->rows && rows[row].patch == i; row++) {
            rows[row].first_value += observed->first_value;
            place->row_count++;
            if (rows[row].flags & SITE_FORCED)
                place->armed_for = rows[row].values > 1 ? (uint64_t)rows[row].values + file->header->traps : UINT64_MAX;
            if (rows[row].after != SITE_NOWHERE)
                place->after = (uintptr_t)observed->installed.stubs + rows[row].after;
        }
        if (place->row_count)
            note_sites(place);
    }
}

static struct observed *room_for(const struct module *module, const struct plan *plan, const struct site_file *file) {
    uint32_t patches = plan->header->patches, rows = file->header->rows, values = file->header->values;
    struct observed *observed = known(module);
    if (observed) { // at another place than before; two at a time would share what is kept of each site
        bool same = observed->count == patches && observed->rows == rows && observed->values == values;
        return same && !atomic_load(&observed->in) ? observed : NULL;
    }
    uint32_t count = atomic_load(&this.module_count);
    if (count == MODULES || this.place_count + patches > SITE_MOST || this.row_count + rows > SITE_MOST ||
        this.value_count + values > SITE_MOST_VALUES)
        return NULL;
    observed = &this.modules[count];
    *observed = (struct observed){.first = this.place_count,
                                  .count = patches,
                                  .first_row = this.row_count,
                                  .rows = rows,
                                  .first_value = this.value_count,
                                  .values = values,
                                  .build_id_bytes = module->build_id_bytes};
    memcpy(observed->build_id, module->build_id, sizeof observed->build_id);
    this.place_count += patches;
    this.row_count += rows;
    this.value_count += values;
    atomic_fetch_add(&this.module_count, 1);
    return observed;
}

static void forget(struct observed *observed) {
    atomic_store(&observed->in, false);
    for (uint32_t i = 0; i < observed->rows; i++) {
        struct record_site *site = record_file_site(this.rows[observed->first_row + i].site);
        atomic_store(&site->armed, 1); // nobody shall write there
    }
}

static enum probes_reason put(const struct module *module, const struct plan *plan, const struct site_file *file) {
    struct observed *observed = room_for(module, plan, file);
    if (!observed)
        return PROBES_TOO_MANY_COUNTERS;
    enum probes_reason reason = install_check(plan, module);
    if (!reason)
        reason = install_reserve(plan, module, 0, &observed->installed);
    if (!reason)
        reason = install_stubs(plan, &observed->installed, leave_stubs, NULL);
    if (reason)
        return reason;
    observed->code_low = module->code_low;
    observed->code_high = module->code_high;
    observed->seen = true;
    fill(observed, plan, file);
    atomic_store(&observed->in, true);
    reason = install_patches(plan, &observed->installed);
    if (reason) {
        forget(observed);
        for (uint32_t i = 0; i < observed->rows; i++)
            record_file_site(this.rows[observed->first_row + i].site)->address = 0;
    }
    return reason;
}

enum probes_reason places_put(const char *folder, const struct module *module) {
    struct plan plan;
    struct site_file file;
    enum probes_reason reason = plan_open(folder, module->build_id, module->build_id_bytes, &plan);
    if (reason)
        return reason;
    reason = site_file_open(folder, &plan, &file);
    if (!reason) {
        reason = put(module, &plan, &file);
        site_file_close(&file);
    }
    plan_close(&plan);
    return reason;
}

void places_begin_look(void) {
    for (struct observed *one = this.modules; one < this.modules + atomic_load(&this.module_count); one++)
        one->seen = false;
}

void places_end_look(void) {
    for (struct observed *one = this.modules; one < this.modules + atomic_load(&this.module_count); one++)
        if (!one->seen && atomic_load(&one->in)) {
            forget(one);
            install_release(&one->installed);
        }
}

static struct place *in_module(const struct observed *observed, uintptr_t at) {
    uint32_t low = observed->first, high = observed->first + observed->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (this.places[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < observed->first + observed->count && this.places[low].at == at ? &this.places[low] : NULL;
}

static struct place *behind(const struct observed *observed, uintptr_t trap) {
    for (uint32_t i = 0; i < observed->count; i++)
        if (this.places[observed->first + i].after == trap)
            return &this.places[observed->first + i];
    return NULL;
}

struct place *place_at(uintptr_t trap, bool *is_after) {
    *is_after = false;
    for (struct observed *one = this.modules; one < this.modules + atomic_load(&this.module_count); one++) {
        if (!atomic_load(&one->in))
            continue;
        if (trap >= one->code_low && trap < one->code_high)
            return in_module(one, trap);
        *is_after = trap - (uintptr_t)one->installed.stubs < one->installed.stub_bytes;
        if (*is_after)
            return behind(one, trap);
    }
    return NULL;
}

bool place_value(const struct site_row *row, uint64_t hit, uint64_t *value) {
    uint64_t which = row->values == 1 ? 0 : hit;
    if (which >= row->values)
        return false;
    *value = this.values[row->first_value + which];
    return true;
}

static bool is_in(const struct place *place) {
    uint32_t number = (uint32_t)(place - this.places);
    for (struct observed *one = this.modules; one < this.modules + atomic_load(&this.module_count); one++)
        if (number >= one->first && number - one->first < one->count)
            return atomic_load(&one->in);
    return false;
}

static bool restore(const struct place *place) {
    uint8_t now[PLAN_OLD_BYTES];
    memcpy(now, (const void *)place->at, trap_bytes);
    return memory_overwrite(place->at, place->old, now, trap_bytes);
}

// The flag first: what is said to be armed has its trap (whyperf/collect/observation/arming.py).
void place_disarm(struct place *place) {
    struct record_site *first = record_file_site(place->rows->site);
    if (!atomic_exchange(&first->armed, 0))
        return;
    for (uint32_t i = 0; i < place->row_count; i++)
        atomic_store(&record_file_site(place->rows[i].site)->disarmed, 1);
    restore(place);
}

bool place_was_at(uintptr_t trap) {
    for (struct place *place = this.places; place < this.places + this.place_count; place++)
        if (place->at == trap && place->is_trap && place->row_count && text_is_ours(place))
            return restore(place);
    return false;
}

void places_disarm_all(void) {
    for (struct place *place = this.places; place < this.places + this.place_count; place++)
        if (place->is_trap && place->row_count && is_in(place))
            place_disarm(place);
}

void places_leave_child(void) {
    for (struct place *place = this.places; place < this.places + this.place_count; place++)
        if (place->is_trap && place->row_count && is_in(place) && text_is_ours(place))
            restore(place);
}

void places_after_fork_in_child(void) {
    for (struct place *place = this.places; place < this.places + this.place_count; place++) {
        if (!place->row_count || !is_in(place))
            continue;
        bool armed = text_is_ours(place);
        for (uint32_t i = 0; i < place->row_count; i++) {
            struct record_site *site = record_file_site(place->rows[i].site);
            atomic_store(&site->armed, armed);
            atomic_store(&site->disarmed, !armed);
            atomic_store(&site->armed_until, place->armed_for);
        }
    }
}
