// SPDX-License-Identifier: GPL-2.0-or-later
#include "sites.h"

#include "output.h"
#include "pub_tool_debuginfo.h"
#include "shadow.h"

static VgHashTable *sites;
static UInt count;
static Addr last_address;

static UInt fingerprint_of(const UChar *bytes, UInt length) {
    return dependences_check(bytes, length);
}

static Bool writes_any_register(const Inputs *inputs) {
    for (UInt i = 0; i < inputs->writes; i++)
        if (inputs->runs[inputs->values + inputs->addresses + i].first < CELL_FLAGS)
            return True;
    return False;
}

// A sketch follows no values: only marks have sites in the stream.
static void describe(Site *site, UInt length, const VexArchInfo *processor) {
    const Module *module = module_at(site->address);
    Addr address = site->address - module->bias;
    Bool follows_values = plan.zooms || plan.pairs || plan.reads;
    if (follows_values)
        site->inputs = inputs_of(site->address, processor);
    site->inputs.length = (UChar)length;
    site->fingerprint = fingerprint_of((const UChar *)site->address, length);
    site->function = plan_function_at(module->plan, address);
    site->mode = site->function ? site->function->mode : MODE_UNLISTED;
    site->is_entry = site->function && site->function->entry == address;
    site->mark = plan_marks(module->plan, address);
    site->of_plan = module->plan && VG_(DebugInfo_sect_kind)(NULL, site->address) != Vg_SectPLT;
    site->reader = plan_reader(module->plan, address);
    site->writes_registers = writes_any_register(&site->inputs);
    if (!follows_values && !site->mark)
        return;
    site->number = ++count;
    UInt flags =
        site->inputs.opcode.site_flags | (site->mode == MODE_ZOOM ? SITE_ZOOM : 0) | (site->mark ? SITE_MARK : 0);
    put_record(RECORD_SITE);
    put(module->number);
    put_signed((Long)(address - last_address));
    put(site->inputs.length);
    put(site->function ? site->function->number + 1ull : 0);
    put(flags);
    last_address = address;
}

Site *site_at(Addr address, UInt length, const VexArchInfo *processor) {
    if (!sites)
        sites = VG_(HT_construct)("whyperf.sites");
    Site *site = VG_(HT_lookup)(sites, address);
    if (site) {
        if (site->inputs.length == length && site->fingerprint == fingerprint_of((const UChar *)address, length))
            return site;
        // Translations of the old code may still hold it, so it is not freed.
        VG_(HT_remove)(sites, address);
    }
    site = VG_(calloc)("whyperf.site", 1, sizeof *site);
    site->address = address;
    describe(site, length, processor);
    VG_(HT_add_node)(sites, site);
    return site;
}
