// The walk over functions, inlined copies and blocks: every variable with what its places are in each of them.
#include "debuginfo/variables.h"

#include <dwarf.h>
#include <string.h>

enum { DEPTH_MAX = 512, RANGES_MAX = 100000 };

struct surroundings {
    int32_t unit;
    int32_t function; // in variables.functions, -1: outside of all
    bool in_code;     // false within abstract instances
    const struct body *body;
    size_t first_range, ranges; // of the innermost block, in variables.scope_ranges
};

static size_t add_ranges(struct variables *variables, Dwarf_Die *die, size_t *first) {
    Dwarf_Addr base, low, high;
    ptrdiff_t offset = 0;
    *first = variables->scope_ranges.count;
    for (int i = 0; i < RANGES_MAX && (offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0; i++) {
        if (low < high && high <= UINT32_MAX && reader_is_code(variables->reader, low, high))
            *(struct range *)column_add(&variables->scope_ranges) = (struct range){.low = low, .high = high};
    }
    return variables->scope_ranges.count - *first;
}

static bool has_code(Dwarf_Die *die) {
    return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

static bool reference(Dwarf_Die *die, unsigned name, Dwarf_Die *target) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) && dwarf_formref_die(&attribute, target);
}

static uint32_t add_location(struct variables *variables, const struct declaration *declaration,
                             struct values_location location, uint32_t leaf) {
    const struct shape *shape = &COLUMN_AT(&variables->shapes, struct shape, declaration->shape);
    location.variable =
        (uint32_t)COLUMN_AT(&variables->rows_of_leaves, int32_t, declaration->first_row + (int32_t)leaf);
    if (shape->behind_count) {
        location.flags |= VALUES_FLAG_FIELDS;
        location.first_field = declaration->first_field;
        location.field_count = shape->behind_count;
    }
    return (uint32_t)texts_intern(&variables->locations, (const char *)&location, sizeof location);
}

static void add_live(struct variables *variables, uint64_t low, uint64_t high, uint32_t location) {
    uint32_t number = (uint32_t)variables->lives.count;
    *(struct live *)column_add(&variables->lives) = (struct live){(uint32_t)low, (uint32_t)high, location, number};
}

struct sighting {
    const struct declaration *declaration;
    const struct surroundings *around;
    bool whole_scope;
};

static const struct place *first_place(const struct pieces *pieces) {
    return pieces->pieces[0].known ? &pieces->pieces[0].place : NULL;
}

// Of the part with the function's entry: a part that was split off may lie anywhere before it.
static uint64_t scope_start(const struct variables *variables, const struct surroundings *around) {
    uint64_t start = UINT64_MAX;
    for (size_t r = 0; r < around->ranges; r++) {
        uint64_t low = COLUMN_AT(&variables->scope_ranges, struct range, around->first_range + r).low;
        if (low >= around->body->entry && low < start)
            start = low;
    }
    return start;
}

// A location of the thing, from `low` to `high`, cut into what lies in the scope and into scalars.
static void add_lives(struct variables *variables, const struct sighting *sighting, const struct pieces *pieces,
                      uint64_t low, uint64_t high) {
    const struct declaration *declaration = sighting->declaration;
    const struct shape shape = COLUMN_AT(&variables->shapes, struct shape, declaration->shape);
    uint64_t first_low = scope_start(variables, sighting->around);
    for (size_t r = 0; r < sighting->around->ranges; r++) {
        struct range range = COLUMN_AT(&variables->scope_ranges, struct range, sighting->around->first_range + r);
        uint64_t scope_low = first_low < range.low ? first_low : range.low;
        uint64_t from = low > range.low ? low : range.low, to = high < range.high ? high : range.high;
        if (from >= to)
            continue;
        const struct place *place = first_place(pieces);
        bool counted = false;
        for (uint32_t i = 0; i < shape.count; i++) {
            struct leaf leaf = COLUMN_AT(&variables->leaves, struct leaf, shape.first + i);
            struct values_location location = {0};
            if (leaf.is_minor || !locate_leaf(variables, pieces, &leaf, &location))
                continue;
            uint64_t start = from, end = to;
            if (sighting->whole_scope && place &&
                !assigned_range(variables, declaration, sighting->around->body, place, &leaf, scope_low, &start, &end))
                continue;
            if (!counted)
                *(location.padding ? &variables->readable_at_entry : &variables->readable) += end - start;
            counted = true;
            add_live(variables, start, end, add_location(variables, declaration, location, i));
        }
    }
}

static bool is_fixed(const struct pieces *pieces) {
    const struct place *place = pieces->count == 1 ? first_place(pieces) : NULL;
    return place && (place->kind == VALUES_AT_ADDRESS || place->kind == VALUES_AT_TLS);
}

// Statics of functions and globals: one place wherever the program is. What cannot change is no variable.
static void add_global(struct variables *variables, struct declaration *declaration, const struct pieces *pieces) {
    const struct shape shape = COLUMN_AT(&variables->shapes, struct shape, declaration->shape);
    if (shape.constant)
        return;
    declaration->scope = VARIABLE_GLOBAL;
    give_rows(variables, declaration);
    for (uint32_t i = 0; i < shape.count; i++) {
        struct leaf leaf = COLUMN_AT(&variables->leaves, struct leaf, shape.first + i);
        struct values_location location = {0};
        if (!locate_leaf(variables, pieces, &leaf, &location))
            continue;
        size_t known = variables->locations.offsets.count;
        uint32_t number = add_location(variables, declaration, location, i);
        if (number + 1 == known)
            *(uint32_t *)column_add(&variables->globals) = number;
    }
}

static void count_pairs(struct variables *variables, const struct surroundings *around) {
    for (size_t r = 0; r < around->ranges; r++) {
        struct range range = COLUMN_AT(&variables->scope_ranges, struct range, around->first_range + r);
        variables->pairs += range.high - range.low;
    }
}

// DW_AT_const_value: the same everywhere in the scope.
static bool constant_pieces(Dwarf_Die *die, uint64_t bytes, struct pieces *pieces) {
    Dwarf_Attribute attribute;
    Dwarf_Sword number;
    Dwarf_Block block;
    if (!dwarf_attr_integrate(die, DW_AT_const_value, &attribute))
        return false;
    pieces->count = 1;
    pieces->pieces[0] = (struct piece){.bytes = bytes, .known = true, .place = {.kind = VALUES_CONSTANT}};
    struct place *place = &pieces->pieces[0].place;
    if (!dwarf_formblock(&attribute, &block)) {
        place->block = block.data;
        place->block_bytes = block.length;
        return true;
    }
    if (dwarf_formsdata(&attribute, &number))
        return false;
    place->address = (uint64_t)number;
    return true;
}

// The number of elements of an array that the program sized, by the expression of its upper bound.
static void see_dynamic_array(struct variables *variables, const struct sighting *sighting, struct shape *shape) {
    Dwarf_Op *operators;
    size_t count;
    struct pieces pieces = {.count = 1};
    struct piece *piece = &pieces.pieces[0];
    if (dwarf_getlocation(&shape->length, &operators, &count) ||
        !read_value(sighting->around->body, &shape->length, operators, count, &piece->place) ||
        piece->place.kind != VALUES_EXPRESSION || !emit_unsigned(&piece->place, DW_OP_plus_uconst, 1))
        return;
    piece->known = true;
    piece->bytes = 8;
    add_lives(variables, sighting, &pieces, 0, UINT64_MAX);
}

static void see_in_code(struct variables *variables, Dwarf_Die *die, const struct surroundings *around) {
    struct declaration *declaration = declaration_of(variables, die, around->function);
    if (!declaration)
        return;
    struct shape shape = COLUMN_AT(&variables->shapes, struct shape, declaration->shape);
    if (shape.form == SHAPE_NOTHING)
        return;
    struct sighting sighting = {declaration, around, false};
    struct pieces pieces;
    Dwarf_Attribute attribute;
    bool has_location = dwarf_attr_integrate(die, DW_AT_location, &attribute);
    if (shape.form == SHAPE_DYNAMIC_ARRAY) {
        sighting.whole_scope = true;
        give_rows(variables, declaration);
        see_dynamic_array(variables, &sighting, &shape);
        return;
    }
    if (!has_location) {
        count_pairs(variables, around);
        if (constant_pieces(die, shape.bytes, &pieces)) {
            give_rows(variables, declaration);
            add_lives(variables, &sighting, &pieces, 0, UINT64_MAX);
        }
        return;
    }
    Dwarf_Addr base, low, high;
    Dwarf_Op *operators;
    size_t count;
    ptrdiff_t offset = 0;
    bool is_static = false;
    while ((offset = dwarf_getlocations(&attribute, offset, &base, &low, &high, &operators, &count)) > 0) {
        bool whole = low == 0 && high == (Dwarf_Addr)-1;
        read_pieces(around->body, &attribute, operators, count, shape.bytes, &pieces);
        if (whole && is_fixed(&pieces)) {
            is_static = true;
            add_global(variables, declaration, &pieces);
            continue;
        }
        sighting.whole_scope = whole;
        give_rows(variables, declaration);
        add_lives(variables, &sighting, &pieces, low, high);
    }
    if (!is_static)
        count_pairs(variables, around);
}

static struct declaration *declare_global(struct variables *variables, Dwarf_Die *die) {
    Dwarf_Attribute linkage;
    char demangled[TEXT_BYTES_MAX];
    const char *symbol = dwarf_attr_integrate(die, DW_AT_linkage_name, &linkage) ? dwarf_formstring(&linkage) : NULL;
    bool readable = symbol && demangle(symbol, demangled, sizeof demangled) == DEMANGLED;
    const char *name = readable ? demangled : dwarf_diename(die);
    int32_t number = name ? declare(variables, die, -1, texts_intern(&variables->names, name, strlen(name)), 0) : -1;
    return number < 0 ? NULL : &COLUMN_AT(&variables->declarations, struct declaration, number);
}

// Outside of functions, and statics that only a function's abstract instance has.
static void see_static(struct variables *variables, Dwarf_Die *die, const struct surroundings *around) {
    Dwarf_Attribute attribute;
    Dwarf_Op *operators;
    size_t count;
    struct pieces pieces;
    struct body nowhere = {.machine = variables->machine};
    if (!dwarf_attr(die, DW_AT_location, &attribute) || dwarf_getlocation(&attribute, &operators, &count))
        return;
    read_pieces(&nowhere, &attribute, operators, count, UINT32_MAX, &pieces);
    if (!is_fixed(&pieces))
        return;
    struct declaration *declaration =
        around->function < 0 ? declare_global(variables, die) : declaration_of(variables, die, around->function);
    if (!declaration)
        return;
    if (around->function < 0)
        declaration->order = static_order(variables, declaration, &pieces.pieces[0].place);
    add_global(variables, declaration, &pieces);
}

static void enter_code(struct variables *variables, Dwarf_Die *die, struct surroundings *inside) {
    Dwarf_Die root;
    if (!reference(die, DW_AT_abstract_origin, &root))
        root = *die;
    bool is_inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
    inside->function = function_number(variables, is_inlined ? root.addr : die->addr);
    number_declarations(variables, &root, inside->function);
}

static const char *walk_children(struct variables *variables, Dwarf_Die *parent, const struct surroundings *around,
                                 int depth);

static const char *walk_function(struct variables *variables, Dwarf_Die *die, const struct surroundings *around,
                                 int depth) {
    struct surroundings inside = {.unit = around->unit, .function = -1};
    struct body body = {.machine = variables->machine};
    inside.body = &body;
    inside.ranges = has_code(die) ? add_ranges(variables, die, &inside.first_range) : 0;
    if (inside.ranges) {
        Dwarf_Addr entry;
        if (dwarf_entrypc(die, &entry))
            entry = COLUMN_AT(&variables->scope_ranges, struct range, inside.first_range).low;
        read_body(&body, variables->machine, die, entry);
        enter_code(variables, die, &inside);
        inside.in_code = true;
    } else if (!has_code(die)) {
        inside.function = function_number(variables, die->addr);
        if (inside.function >= 0)
            number_declarations(variables, die, inside.function);
    }
    return walk_children(variables, die, &inside, depth + 1);
}

static const char *walk_block(struct variables *variables, Dwarf_Die *die, const struct surroundings *around,
                              int depth) {
    struct surroundings inside = *around;
    bool is_inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
    if (around->in_code && has_code(die)) {
        inside.ranges = add_ranges(variables, die, &inside.first_range);
        if (is_inlined)
            enter_code(variables, die, &inside);
    } else if (is_inlined) {
        inside.ranges = 0;
    }
    return walk_children(variables, die, &inside, depth + 1);
}

// Returns the null entry after the DIE's last child, or NULL when its children were not walked.
static const char *walk(struct variables *variables, Dwarf_Die *die, const struct surroundings *around, int depth) {
    switch (dwarf_tag(die)) {
    case DW_TAG_variable:
    case DW_TAG_formal_parameter:
        if (around->in_code && around->ranges)
            see_in_code(variables, die, around);
        else if (!around->in_code)
            see_static(variables, die, around);
        return NULL;
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
        if (around->in_code)
            read_call_site(variables, die, around->body);
        return NULL;
    case DW_TAG_subprogram:
        return walk_function(variables, die, around, depth);
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        return walk_block(variables, die, around, depth);
    case DW_TAG_namespace:
    case DW_TAG_module:
        return walk_children(variables, die, around, depth + 1);
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        if (COLUMN_AT(&variables->reader->units, struct unit, around->unit).types_hold_functions)
            return walk_children(variables, die, around, depth + 1);
        return NULL;
    default:
        return NULL;
    }
}

static const char *walk_children(struct variables *variables, Dwarf_Die *parent, const struct surroundings *around,
                                 int depth) {
    Dwarf_Die die, next;
    if (depth > DEPTH_MAX || dwarf_haschildren(parent) != 1 || dwarf_child(parent, &die))
        return NULL;
    for (;;) {
        size_t ranges = variables->scope_ranges.count;
        const char *end = walk(variables, &die, around, depth);
        variables->scope_ranges.count = ranges;
        const char *null_entry;
        struct unit *unit = &COLUMN_AT(&variables->reader->units, struct unit, around->unit);
        if (!next_sibling(unit, &die, end, &next, &null_entry))
            return null_entry;
        die = next;
    }
}

void walk_variables(struct variables *variables) {
    for (int32_t unit = 0; (size_t)unit < variables->reader->units.count; unit++) {
        Dwarf_Die die = COLUMN_AT(&variables->reader->units, struct unit, unit).die;
        struct surroundings around = {.unit = unit, .function = -1};
        walk_children(variables, &die, &around, 0);
    }
}
