// Declarations and the rows they become. A function that several units hold copies of declares its variables once:
// rows are told apart by function, name and declaration order alone.
#include "debuginfo/variables.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 512, ORIGINS_MAX = 8, BLOCKS_MAX = 256 };

int32_t function_number(struct variables *variables, const void *die) {
    struct reader *reader = variables->reader;
    uint32_t node;
    if (!pointer_map_get(&reader->node_of_die, die, &node))
        return -1;
    int32_t raw = COLUMN_AT(&reader->nodes, struct node, node).function;
    if (raw < 0)
        return -1;
    const struct function *function = &COLUMN_AT(&reader->functions, struct function, raw);
    struct variable_function key = {function->name, function->file, function->line, function->mangled};
    int32_t identity[3] = {key.name, key.file, key.line};
    int32_t number = texts_intern(&variables->function_keys, (const char *)identity, sizeof identity);
    if ((size_t)number == variables->functions.count)
        *(struct variable_function *)column_add(&variables->functions) = key;
    return number;
}

static Dwarf_Die origin_of(Dwarf_Die die) {
    for (int i = 0; i < ORIGINS_MAX; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) || !dwarf_formref_die(&attribute, &next))
            break;
        die = next;
    }
    return die;
}

static void read_declared_at(struct variables *variables, Dwarf_Die *die, struct declaration *declaration) {
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Die unit;
    uint32_t unit_number;
    declaration->file = -1;
    if (dwarf_attr_integrate(die, DW_AT_decl_line, &attribute) && !dwarf_formudata(&attribute, &number))
        declaration->line = number > INT32_MAX ? 0 : (int32_t)number;
    if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &number))
        return;
    // The number means something in the unit that holds the attribute, which a specification may have moved.
    if (!dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
        !pointer_map_get(&variables->reader->walked, unit.addr, &unit_number))
        return;
    struct unit *holder = &COLUMN_AT(&variables->reader->units, struct unit, unit_number);
    declaration->file = unit_file(variables->reader, holder, number);
}

int32_t declare(struct variables *variables, Dwarf_Die *die, int32_t function, int32_t name, int32_t order) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &type))
        return -1;
    struct declaration declaration = {
        .die = *die,
        .function = function,
        .name = name,
        .order = order,
        .shape = shape_of(variables, &type),
        .scope = dwarf_tag(die) == DW_TAG_formal_parameter ? VARIABLE_PARAMETER : VARIABLE_LOCAL,
        .first_row = -1,
    };
    read_declared_at(variables, die, &declaration);
    uint32_t number = (uint32_t)variables->declarations.count;
    *(struct declaration *)column_add(&variables->declarations) = declaration;
    pointer_map_put(&variables->declaration_of_die, die->addr, number);
    return (int32_t)number;
}

static int32_t order_of(const struct variables *variables, size_t first, int32_t name) {
    int32_t order = 0;
    for (size_t i = first; i < variables->declarations.count; i++)
        order += COLUMN_AT(&variables->declarations, struct declaration, i).name == name;
    return order;
}

static void number_children(struct variables *variables, Dwarf_Die *parent, int32_t function, size_t first, int depth) {
    Dwarf_Die die;
    if (depth > BLOCKS_MAX || dwarf_child(parent, &die))
        return;
    do {
        int tag = dwarf_tag(&die);
        const char *text;
        if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
            number_children(variables, &die, function, first, depth + 1);
        } else if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) && (text = dwarf_diename(&die))) {
            int32_t name = texts_intern(&variables->names, text, strlen(text));
            declare(variables, &die, function, name, order_of(variables, first, name));
        }
    } while (!dwarf_siblingof(&die, &die));
}

void number_declarations(struct variables *variables, Dwarf_Die *root, int32_t function) {
    uint32_t before;
    if (pointer_map_get(&variables->numbered, root->addr, &before))
        return;
    pointer_map_put(&variables->numbered, root->addr, 1);
    number_children(variables, root, function, variables->declarations.count, 0);
}

struct declaration *declaration_of(struct variables *variables, Dwarf_Die *die, int32_t function) {
    Dwarf_Die origin = origin_of(*die);
    uint32_t number;
    if (!pointer_map_get(&variables->declaration_of_die, origin.addr, &number)) {
        const char *text = dwarf_diename(&origin);
        int32_t name = text ? texts_intern(&variables->names, text, strlen(text)) : -1;
        int32_t made = text ? declare(variables, &origin, function, name, 0) : -1;
        if (made < 0)
            return NULL;
        number = (uint32_t)made;
    }
    return &COLUMN_AT(&variables->declarations, struct declaration, number);
}

static int32_t add_row(struct variables *variables, const struct declaration *declaration, const struct leaf *leaf,
                       const char *name) {
    struct variable_row row = {
        .function = declaration->function,
        .name = texts_intern(&variables->names, name, strlen(name)),
        .type = leaf->type,
        .file = declaration->file,
        .line = declaration->line,
        .order = declaration->order,
        .kind = leaf->kind,
        .scope = declaration->scope,
    };
    int32_t key[4] = {row.function, row.name, row.order, row.function < 0 ? row.file : -1};
    int32_t number = texts_intern(&variables->row_keys, (const char *)key, sizeof key);
    if ((size_t)number == variables->rows.count)
        *(struct variable_row *)column_add(&variables->rows) = row;
    return number;
}

static void write_name(struct variables *variables, const struct declaration *declaration, uint8_t form, bool behind,
                       const struct leaf *leaf, char *name) {
    size_t length, path_length;
    const char *own = texts_at(&variables->names, declaration->name, &length);
    const char *path = texts_at(&variables->names, leaf->path, &path_length);
    const char *before = "", *between = path_length ? "." : "";
    if (form == SHAPE_POINTER && behind) {
        before = path_length ? "" : "*";
        between = path_length ? "->" : "";
    } else if (form == SHAPE_REFERENCE && !behind) {
        before = "&";
    } else if (form == SHAPE_DYNAMIC_ARRAY) {
        before = "length of ";
    }
    snprintf(name, NAME_BYTES, "%s%.*s%s%.*s", before, (int)length, own, between, (int)path_length, path);
}

static int32_t add_named_row(struct variables *variables, const struct declaration *declaration, uint8_t form,
                             bool behind, uint32_t leaf_number, struct leaf *leaf) {
    char name[NAME_BYTES];
    *leaf = COLUMN_AT(&variables->leaves, struct leaf, leaf_number);
    write_name(variables, declaration, form, behind, leaf, name);
    return add_row(variables, declaration, leaf, name);
}

// One row for each scalar of the object and behind it, and the fields of the table for the latter.
void give_rows(struct variables *variables, struct declaration *declaration) {
    if (declaration->first_row >= 0)
        return;
    struct shape shape = COLUMN_AT(&variables->shapes, struct shape, declaration->shape);
    struct values_field fields[64] = {0};
    struct leaf leaf;
    declaration->first_row = (int32_t)variables->rows_of_leaves.count;
    for (uint32_t i = 0; i < shape.count; i++) {
        int32_t row = add_named_row(variables, declaration, shape.form, false, shape.first + i, &leaf);
        *(int32_t *)column_add(&variables->rows_of_leaves) = row;
    }
    for (uint32_t i = 0; i < shape.behind_count; i++) {
        int32_t row = add_named_row(variables, declaration, shape.form, true, shape.first_behind + i, &leaf);
        fields[i] = (struct values_field){.offset = leaf.offset,
                                          .size = leaf.size,
                                          .flags = leaf.flags,
                                          .variable = (uint32_t)row,
                                          .scale = leaf.scale};
    }
    if (shape.behind_count) {
        int32_t run =
            texts_intern(&variables->fields, (const char *)fields, shape.behind_count * sizeof(struct values_field));
        uint64_t start = COLUMN_AT(&variables->fields.offsets, uint64_t, run);
        declaration->first_field = (uint32_t)(start / sizeof(struct values_field));
    }
}

// The address tells what the name and the file do not: a static in a header is another variable in every unit.
int32_t static_order(struct variables *variables, const struct declaration *declaration, const struct place *place) {
    struct {
        int32_t name, file, kind, order;
        uint64_t at;
    } key = {declaration->name, declaration->file, place->kind, 0, place->address + (uint64_t)place->offset};
    int32_t number = texts_intern(&variables->static_keys, (const char *)&key, sizeof key);
    if ((size_t)number < variables->static_orders.count)
        return COLUMN_AT(&variables->static_orders, int32_t, number);
    int32_t named[2] = {declaration->name, declaration->file};
    int32_t group = texts_intern(&variables->static_names, (const char *)named, sizeof named);
    if ((size_t)group == variables->static_counts.count)
        column_add(&variables->static_counts);
    int32_t order = COLUMN_AT(&variables->static_counts, int32_t, group)++;
    *(int32_t *)column_add(&variables->static_orders) = order;
    return order;
}
