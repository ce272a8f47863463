// SPDX-License-Identifier: GPL-2.0-or-later
#include "watches.h"

#include "events.h"
#include "output.h"
#include "recording.h"

#define WATCHES_MOST 64

typedef struct {
    Addr address;
    ULong value;
} Placed;

static Placed placed[WATCHES_MOST];
Addr watches_low, watches_span;

static ULong value_at(Addr address, UInt size) {
    ULong value = 0;
    VG_(memcpy)(&value, (const void *)address, size);
    return value;
}

void watches_place(const Module *module) {
    for (UInt i = 0; i < plan.watch_count && i < WATCHES_MOST; i++) {
        const PlanWatch *watch = &plan.watches[i];
        if (module->plan != &plan.modules[watch->module] || placed[i].address)
            continue;
        Addr address = watch->address + module->bias;
        if (!VG_(am_is_valid_for_client)(address, watch->size, VKI_PROT_READ))
            continue;
        placed[i] = (Placed){address, value_at(address, watch->size)};
        // Stores of up to 64 bytes that begin before the variable may reach into it.
        Addr low = address - 64, high = address + watch->size;
        Addr old_high = watches_low + watches_span;
        if (watches_span && watches_low < low)
            low = watches_low;
        if (watches_span && old_high > high)
            high = old_high;
        watches_low = low;
        watches_span = high - low;
    }
}

VG_REGPARM(3) void watches_check(Addr address, UWord size, UWord site) {
    if (!recording)
        return;
    for (UInt i = 0; i < plan.watch_count && i < WATCHES_MOST; i++) {
        UInt watched = plan.watches[i].size;
        if (!placed[i].address || address >= placed[i].address + watched || address + size <= placed[i].address)
            continue;
        ULong value = value_at(placed[i].address, watched);
        put_record(RECORD_WATCH);
        put(i);
        put(site);
        put(events_last_of_site((UInt)site));
        put(placed[i].value);
        put(value);
        placed[i].value = value;
    }
}
