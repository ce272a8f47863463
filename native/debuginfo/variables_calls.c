// Call sites: what a caller still knows of the arguments that it passed, and which functions that may be asked for.
#include "debuginfo/variables.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

static bool address(Dwarf_Die *die, unsigned name, Dwarf_Addr *found) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) && !dwarf_formaddr(&attribute, found);
}

static bool flag(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    bool set = false;
    return dwarf_attr(die, name, &attribute) && !dwarf_formflag(&attribute, &set) && set;
}

// Where the direct call or jump before `end` goes. The debug information names the callee, but clones of a function
// share its name: the code is certain.
static bool direct_target(const struct variables *variables, bool is_call, uint64_t end, uint64_t *target) {
    const struct code_machine *machine = variables->machine;
    uint64_t size = machine->call_bytes;
    const uint8_t *code = end >= size ? code_at(variables, end - size, end) : NULL;
    return code &&
           (is_call ? machine->call_target(code, size, end, target) : machine->jump_target(code, size, end, target)) &&
           reader_is_code(variables->reader, *target, *target + 1);
}

static bool expression(Dwarf_Die *die, unsigned name, unsigned old_name, Dwarf_Attribute *attribute, Dwarf_Op **found,
                       size_t *count) {
    return (dwarf_attr(die, name, attribute) || dwarf_attr(die, old_name, attribute)) &&
           !dwarf_getlocation(attribute, found, count);
}

static void read_parameter(struct variables *variables, Dwarf_Die *die, const struct body *body) {
    Dwarf_Attribute attribute;
    Dwarf_Op *operators;
    size_t count;
    if (!expression(die, DW_AT_location, DW_AT_location, &attribute, &operators, &count) || count != 1 ||
        operators->atom < DW_OP_reg0 || operators->atom - DW_OP_reg0 >= body->machine->registers)
        return;
    uint32_t reg = (uint32_t)(operators->atom - DW_OP_reg0);
    struct place place;
    struct values_location location = {.size = 8, .variable = VALUES_NO_VARIABLE};
    if (!expression(die, DW_AT_call_value, DW_AT_GNU_call_site_value, &attribute, &operators, &count) ||
        !read_value(body, &attribute, operators, count, &place) || place.uses_dying ||
        !finish_location(variables, &place, &location))
        return;
    int32_t number = texts_intern(&variables->locations, (const char *)&location, sizeof location);
    *(struct values_call_parameter *)column_add(&variables->call_parameters) =
        (struct values_call_parameter){reg, (uint32_t)number};
}

// A function that is left by a tail call and reached by one might be its own caller, unseen: what was passed to it
// then is not what the call site says.
static void read_tail_call(struct variables *variables, Dwarf_Die *die, const struct body *body, uint64_t end) {
    Dwarf_Attribute attribute;
    Dwarf_Die callee;
    Dwarf_Addr low;
    uint64_t target;
    bool known = direct_target(variables, false, end, &target);
    if (!known &&
        (dwarf_attr(die, DW_AT_call_origin, &attribute) || dwarf_attr(die, DW_AT_abstract_origin, &attribute)) &&
        dwarf_formref_die(&attribute, &callee) && !dwarf_lowpc(&callee, &low)) {
        known = true;
        target = low;
    }
    *(uint64_t *)column_add(&variables->tail_callers) = body->entry;
    // A jump to who knows where may come back.
    *(uint64_t *)column_add(&variables->tail_called) = known ? target : body->entry;
}

void read_call_site(struct variables *variables, Dwarf_Die *die, const struct body *body) {
    Dwarf_Addr end;
    uint64_t target;
    bool has_end = address(die, DW_AT_call_return_pc, &end) || address(die, DW_AT_low_pc, &end);
    if (flag(die, DW_AT_call_tail_call) || flag(die, DW_AT_GNU_tail_call)) {
        read_tail_call(variables, die, body, has_end ? end : 0);
        return;
    }
    Dwarf_Die child;
    if (!has_end || !direct_target(variables, true, end, &target) || target > UINT32_MAX || end > UINT32_MAX ||
        dwarf_hasattr(die, DW_AT_call_target) || dwarf_hasattr(die, DW_AT_GNU_call_site_target) ||
        dwarf_child(die, &child))
        return;
    uint32_t first = (uint32_t)variables->call_parameters.count;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_call_site_parameter || tag == DW_TAG_GNU_call_site_parameter)
            read_parameter(variables, &child, body);
    } while (!dwarf_siblingof(&child, &child));
    uint32_t count = (uint32_t)variables->call_parameters.count - first;
    if (count)
        *(struct values_call_site *)column_add(&variables->call_sites) =
            (struct values_call_site){(uint32_t)end, (uint32_t)target, first, count};
}

static int compare_addresses(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static bool contains(const struct column *sorted, uint64_t address) {
    return sorted->count && bsearch(&address, sorted->items, sorted->count, sizeof address, compare_addresses);
}

static int compare_sites(const void *left, const void *right) {
    const struct values_call_site *a = left, *b = right;
    return a->return_address != b->return_address ? (a->return_address < b->return_address ? -1 : 1)
                                                  : (a->first < b->first ? -1 : a->first > b->first);
}

void drop_uncertain_entries(struct variables *variables, bool *dropped) {
    struct column *sets[] = {&variables->tail_callers, &variables->tail_called};
    for (int i = 0; i < 2; i++)
        if (sets[i]->count)
            qsort(sets[i]->items, sets[i]->count, sizeof(uint64_t), compare_addresses);
    struct values_location *locations = (struct values_location *)variables->locations.bytes.items;
    for (size_t i = 0; i + 1 < variables->locations.offsets.count; i++) {
        uint32_t entry = locations[i].padding;
        dropped[i] = entry && contains(sets[0], entry) && contains(sets[1], entry);
        locations[i].padding = 0;
    }
    // One call may be described in several units, or twice: the first will do.
    struct values_call_site *sites = (struct values_call_site *)variables->call_sites.items;
    if (variables->call_sites.count)
        qsort(sites, variables->call_sites.count, sizeof *sites, compare_sites);
    size_t kept = 0;
    for (size_t i = 0; i < variables->call_sites.count; i++)
        if (!kept || sites[kept - 1].return_address != sites[i].return_address)
            sites[kept++] = sites[i];
    variables->call_sites.count = kept;
}
