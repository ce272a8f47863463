// One linear walk over every unit's DIEs. Types are entered only where the language lets them hold functions.
#include "debuginfo/reader.h"

#include <dwarf.h>
#include <string.h>

enum { DEPTH_MAX = 512, RANGES_MAX = 100000 };

struct place {
    int32_t unit;
    int32_t prefix; // what encloses the DIE by name
    int32_t scope;  // what encloses it in code
    int rank;       // how deep that is
};

static bool integer(Dwarf_Die *die, unsigned name, Dwarf_Word *value) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, value);
}

static bool reference(Dwarf_Die *die, unsigned name, Dwarf_Die *target) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) && dwarf_formref_die(&attribute, target);
}

// Appends the DIE's addresses; true if there were any.
static bool add_ranges(struct reader *reader, Dwarf_Die *die, int32_t scope, int rank, uint64_t *first) {
    Dwarf_Addr base, low, high;
    ptrdiff_t offset = 0;
    bool any = false;
    for (int i = 0; i < RANGES_MAX && (offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0; i++) {
        if (low >= high || !reader_is_code(reader, low, high))
            continue;
        if (!any)
            *first = low;
        any = true;
        *(struct range *)column_add(&reader->ranges) = (struct range){low, high, scope, rank};
    }
    return any;
}

static bool has_code(Dwarf_Die *die) {
    return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

static int32_t add_prefix(struct reader *reader, Dwarf_Die *die, int tag, int32_t parent, int32_t node) {
    struct prefix *prefix = column_add(&reader->prefixes);
    *prefix = (struct prefix){parent, node, node < 0 ? dwarf_diename(die) : NULL, tag};
    return (int32_t)reader->prefixes.count - 1;
}

static void enter_function(struct reader *reader, Dwarf_Die *die, struct place *place) {
    int32_t node = (int32_t)reader->nodes.count;
    *(struct node *)column_add(&reader->nodes) = (struct node){*die, place->unit, place->prefix, FUNCTION_UNKNOWN};
    pointer_map_put(&reader->node_of_die, die->addr, (uint32_t)node);
    place->prefix = add_prefix(reader, die, DW_TAG_subprogram, place->prefix, node);
    place->scope = -1;
    place->rank = 0;
    if (!has_code(die))
        return;
    uint64_t entry = 0;
    int32_t scope = (int32_t)reader->scopes.count;
    if (!add_ranges(reader, die, scope, 1, &entry))
        return;
    Dwarf_Addr stated;
    if (!dwarf_entrypc(die, &stated) && reader_is_code(reader, stated, stated + 1))
        entry = stated;
    *(struct scope *)column_add(&reader->scopes) =
        (struct scope){.entry = entry, .origin = die->addr, .parent = -1, .call_file = -1, .kind = SCOPE_FUNCTION};
    place->scope = scope;
    place->rank = 1;
}

static void enter_inlined(struct reader *reader, Dwarf_Die *die, struct place *place) {
    Dwarf_Die origin;
    if (place->scope < 0 || !has_code(die) || !reference(die, DW_AT_abstract_origin, &origin))
        return;
    uint64_t entry = 0;
    int32_t scope = (int32_t)reader->scopes.count;
    if (!add_ranges(reader, die, scope, place->rank + 1, &entry))
        return;
    Dwarf_Word file, line = 0;
    int32_t call_file = -1;
    if (integer(die, DW_AT_call_file, &file))
        call_file = unit_file(reader, &COLUMN_AT(&reader->units, struct unit, place->unit), file);
    integer(die, DW_AT_call_line, &line);
    *(struct scope *)column_add(&reader->scopes) = (struct scope){.entry = entry,
                                                                  .origin = origin.addr,
                                                                  .parent = place->scope,
                                                                  .call_file = call_file,
                                                                  .call_line = line > INT32_MAX ? 0 : (int32_t)line,
                                                                  .kind = SCOPE_INLINED};
    place->scope = scope;
    place->rank++;
}

// A type may be declared in one place and defined, with DW_AT_specification, in another: the first one has the name.
static void enter_type(struct reader *reader, Dwarf_Die *die, int tag, struct place *place) {
    Dwarf_Die declaration;
    uint32_t known;
    if (reference(die, DW_AT_specification, &declaration) &&
        pointer_map_get(&reader->prefix_of_die, declaration.addr, &known)) {
        place->prefix = (int32_t)known;
        return;
    }
    place->prefix = add_prefix(reader, die, tag, place->prefix, -1);
    pointer_map_put(&reader->prefix_of_die, die->addr, (uint32_t)place->prefix);
}

// Takes in what the DIE says; true if its children matter too, which then lie in *place.
static bool enter(struct reader *reader, Dwarf_Die *die, struct place *place) {
    int tag = dwarf_tag(die);
    switch (tag) {
    case DW_TAG_subprogram:
        enter_function(reader, die, place);
        return true;
    case DW_TAG_inlined_subroutine:
        enter_inlined(reader, die, place);
        return true;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        return true;
    case DW_TAG_namespace:
    case DW_TAG_module:
        place->prefix = add_prefix(reader, die, tag, place->prefix, -1);
        return true;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        if (!COLUMN_AT(&reader->units, struct unit, place->unit).types_hold_functions)
            return false;
        enter_type(reader, die, tag, place);
        return true;
    default:
        return false;
    }
}

// Without this, compilers that write no DW_AT_sibling (clang) would have every subtree read once per level above it.
bool next_sibling(const struct unit *unit, Dwarf_Die *die, const char *end, Dwarf_Die *next, const char **null_entry) {
    *null_entry = NULL;
    if (end && !dwarf_hasattr(die, DW_AT_sibling)) {
        if (!dwarf_die_addr_die(unit->dwarf, (char *)end + 1, next) || next->cu != unit->die.cu)
            return false;
        if (*(const char *)next->addr)
            return true;
        *null_entry = next->addr;
        return false;
    }
    int status = dwarf_siblingof(die, next);
    if (status > 0)
        *null_entry = next->addr;
    return status == 0;
}

// Returns the null entry after the last child, or NULL when it is not known.
static const char *walk_children(struct reader *reader, Dwarf_Die *parent, struct place place, int depth) {
    Dwarf_Die die, next;
    if (depth > DEPTH_MAX || dwarf_child(parent, &die))
        return NULL;
    for (;;) {
        struct place inside = place;
        const char *end = NULL, *null_entry;
        if (enter(reader, &die, &inside) && dwarf_haschildren(&die) == 1)
            end = walk_children(reader, &die, inside, depth + 1);
        if (!next_sibling(&COLUMN_AT(&reader->units, struct unit, place.unit), &die, end, &next, &null_entry))
            return null_entry;
        die = next;
    }
}

static bool language_types_hold_functions(int language) {
    switch (language) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
        return false;
    default:
        return true;
    }
}

static const char *text(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

// Walks a unit once; returns its number, or -1 the second time. `folder` is the compilation's where the unit itself
// does not name it.
static int32_t walk_unit(struct reader *reader, Dwarf *dwarf, Dwarf_Die *die, const char *folder) {
    uint32_t before;
    if (pointer_map_get(&reader->walked, die->addr, &before))
        return -1;
    int language = dwarf_srclang(die);
    struct unit *unit = column_add(&reader->units);
    int32_t number = (int32_t)reader->units.count - 1;
    *unit = (struct unit){.dwarf = dwarf,
                          .die = *die,
                          .is_rust = language == DW_LANG_Rust,
                          .types_hold_functions = language_types_hold_functions(language)};
    pointer_map_put(&reader->walked, die->addr, (uint32_t)number);
    unit->folder = text(die, DW_AT_comp_dir);
    if (!unit->folder)
        unit->folder = folder;
    if (dwarf_getsrcfiles(die, &unit->files, &unit->file_count))
        unit->file_count = 0;
    walk_children(reader, die, (struct place){number, -1, -1, 0}, 0);
    return number;
}

static void walk_whole(struct reader *reader, Dwarf *dwarf, Dwarf_Die *die) {
    size_t first_range = reader->ranges.count;
    int32_t number = walk_unit(reader, dwarf, die, NULL);
    if (number >= 0 && dwarf_tag(die) == DW_TAG_compile_unit)
        read_lines(reader, number, first_range);
}

static void walk_types(struct reader *reader, Dwarf *dwarf, const char *folder) {
    uint32_t before;
    if (pointer_map_get(&reader->walked, dwarf, &before))
        return;
    pointer_map_put(&reader->walked, dwarf, 0);
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    while (!dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL)) {
        if (type == DW_UT_type || type == DW_UT_split_type)
            walk_unit(reader, dwarf, &die, folder);
    }
}

// A split unit's functions lie in another file, its lines stay in this one.
static void walk_skeleton(struct reader *reader, Dwarf *dwarf, Dwarf_Die *skeleton, Dwarf_Die *split) {
    size_t first_range = reader->ranges.count;
    int32_t number = walk_unit(reader, dwarf, skeleton, NULL);
    if (split->cu) {
        const char *folder = text(skeleton, DW_AT_comp_dir);
        Dwarf *other = dwarf_cu_getdwarf(split->cu);
        walk_types(reader, other, folder);
        walk_unit(reader, other, split, folder);
    } else {
        reader->missing_split_units++;
    }
    if (number >= 0)
        read_lines(reader, number, first_range);
}

void walk_dwarf(struct reader *reader, Dwarf *dwarf) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, split;
    uint8_t type;
    while (!dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, &split)) {
        if (type == DW_UT_skeleton)
            walk_skeleton(reader, dwarf, &die, &split);
        else
            walk_whole(reader, dwarf, &die);
    }
    Dwarf *shared = dwarf_getalt(dwarf);
    uint32_t before;
    if (shared && !pointer_map_get(&reader->walked, shared, &before)) {
        pointer_map_put(&reader->walked, shared, 0);
        walk_dwarf(reader, shared);
    }
}
