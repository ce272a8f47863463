#define _GNU_SOURCE
#include "debuginfo/layouts.h"

#include "debuginfo/binary_file.h"
#include "debuginfo/columns_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 4, MOST_TYPES = 4000 };

// Types that were reached, each once.
struct reached {
    struct column types; // Dwarf_Die
    struct pointer_map known;
};

static bool type_of(Dwarf_Die *die, Dwarf_Die *type) {
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, type);
}

// The type behind names and qualifiers; false: none.
static bool bare_type(Dwarf_Die *die, Dwarf_Die *type) {
    Dwarf_Die named;
    return type_of(die, &named) && dwarf_peel_type(&named, type) == 0;
}

static uint64_t number_of(Dwarf_Die *die, unsigned name, uint64_t otherwise) {
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_attr_integrate(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? value : otherwise;
}

static bool is_structure(int tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static void reach(struct reached *reached, Dwarf_Die *type) {
    uint32_t known;
    Dwarf_Attribute attribute;
    if (dwarf_attr(type, DW_AT_declaration, &attribute) || reached->types.count >= MOST_TYPES ||
        pointer_map_get(&reached->known, type->addr, &known))
        return;
    pointer_map_put(&reached->known, type->addr, 0);
    *(Dwarf_Die *)column_add(&reached->types) = *type;
}

static void write_type(FILE *out, struct reached *reached, Dwarf_Die *type, int depth);

static void write_type_of(FILE *out, struct reached *reached, Dwarf_Die *die, int depth) {
    Dwarf_Die type;
    if (bare_type(die, &type))
        write_type(out, reached, &type, depth);
    else
        fputs("void", out);
}

static void write_dimensions(FILE *out, Dwarf_Die *array) {
    Dwarf_Die child;
    if (dwarf_child(array, &child) != 0)
        return;
    do {
        if (dwarf_tag(&child) == DW_TAG_subrange_type)
            fprintf(out, "[%llu]",
                    (unsigned long long)number_of(&child, DW_AT_count, number_of(&child, DW_AT_upper_bound, 0) + 1));
    } while (dwarf_siblingof(&child, &child) == 0);
}

static void write_members(FILE *out, struct reached *reached, Dwarf_Die *structure, int depth) {
    Dwarf_Die child;
    fprintf(out, "%llu{", (unsigned long long)number_of(structure, DW_AT_byte_size, 0));
    for (int next = dwarf_child(structure, &child); next == 0; next = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        Dwarf_Attribute attribute;
        const char *name = dwarf_diename(&child);
        if (tag == DW_TAG_subprogram && dwarf_attr(&child, DW_AT_vtable_elem_location, &attribute)) {
            fprintf(out, "virtual %s;", name ? name : "");
        } else if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
                   !dwarf_attr(&child, DW_AT_external, &attribute)) {
            fprintf(out, "%s@%llu.%llu:", name ? name : "",
                    (unsigned long long)number_of(&child, DW_AT_data_member_location, 0),
                    (unsigned long long)number_of(&child, DW_AT_data_bit_offset, 0));
            write_type_of(out, reached, &child, depth + 1);
            fputc(';', out);
        }
    }
    fputc('}', out);
}

static void write_type(FILE *out, struct reached *reached, Dwarf_Die *type, int depth) {
    int tag = dwarf_tag(type);
    const char *name = dwarf_diename(type);
    if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) {
        fputc('*', out);
        if (depth < DEEPEST)
            write_type_of(out, reached, type, depth + 1);
    } else if (tag == DW_TAG_array_type) {
        write_dimensions(out, type);
        write_type_of(out, reached, type, depth + 1);
    } else if (is_structure(tag)) {
        reach(reached, type);
        if (name)
            fputs(name, out);
        else if (depth < DEEPEST)
            write_members(out, reached, type, depth);
    } else {
        fprintf(out, "%s/%llu", name ? name : "", (unsigned long long)number_of(type, DW_AT_byte_size, 0));
    }
}

// In which register, or how far from one, a parameter is when the function begins.
static void write_place(FILE *out, Dwarf_Die *parameter, uint64_t entry) {
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t count;
    if (dwarf_attr(parameter, DW_AT_location, &attribute) &&
        dwarf_getlocation_addr(&attribute, entry, &operations, &count, 1) > 0 && count)
        fprintf(out, "%u.%llu", operations[0].atom, (unsigned long long)operations[0].number);
    else
        fputc('?', out);
}

static void write_signature(FILE *out, struct reached *reached, Dwarf_Die *function, uint64_t entry) {
    Dwarf_Die child;
    fprintf(out, "F %llx\t", (unsigned long long)entry);
    write_type_of(out, reached, function, 0);
    for (int next = dwarf_child(function, &child); next == 0; next = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) == DW_TAG_unspecified_parameters)
            fputs("\t... ... ?", out);
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            continue;
        const char *name = dwarf_diename(&child);
        fputc('\t', out);
        write_type_of(out, reached, &child, 0);
        fprintf(out, " %s ", name ? name : "?");
        write_place(out, &child, entry);
    }
    fputc('\n', out);
}

static void reach_variables(FILE *nowhere, struct reached *reached, Dwarf_Die *scope, int depth) {
    Dwarf_Die child;
    for (int next = dwarf_child(scope, &child); next == 0; next = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
            write_type_of(nowhere, reached, &child, 0);
        else if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) && depth < 64)
            reach_variables(nowhere, reached, &child, depth + 1);
    }
}

static bool find_function(Dwarf *dwarf, uint64_t entry, Dwarf_Die *function) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die whole, part;
    while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &whole, &part) == 0) {
        Dwarf_Die *holder = dwarf_tag(&part) == DW_TAG_compile_unit ? &part : &whole; // split debug information
        if (dwarf_haspc(&whole, entry) <= 0)
            continue;
        Dwarf_Die *scopes;
        int count = dwarf_getscopes(holder, entry, &scopes);
        for (int i = 0; i < count; i++) {
            Dwarf_Addr start;
            if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram && dwarf_entrypc(&scopes[i], &start) == 0 &&
                start == entry) {
                *function = scopes[i];
                free(scopes);
                return true;
            }
        }
        if (count > 0)
            free(scopes);
    }
    return false;
}

static void write_function(FILE *out, FILE *nowhere, Dwarf_Die *function, uint64_t entry) {
    struct reached reached = {.types = COLUMN(Dwarf_Die)};
    write_signature(out, &reached, function, entry);
    reach_variables(nowhere, &reached, function, 0);
    for (size_t i = 0; i < reached.types.count; i++) {
        Dwarf_Die type = COLUMN_AT(&reached.types, Dwarf_Die, i); // the column may move
        const char *name = dwarf_diename(&type);
        FILE *to = name ? out : nowhere; // what has no name is part of what it lies in
        fprintf(to, "T %s\t", name ? name : "");
        write_members(to, &reached, &type, 0);
        fputc('\n', to);
    }
}

bool extract_layouts(void *argument, int output) {
    const struct layouts_request *request = argument;
    struct reader reader;
    struct binary_file binary;
    if (!open_binary(&request->binary, &reader, &binary))
        return false;
    GElf_Addr bias;
    Dwarf *dwarf = dwfl_module_getdwarf(binary.module, &bias);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size), *nowhere = fopen("/dev/null", "w");
    if (!dwarf || !out || !nowhere)
        return false;
    for (size_t i = 0; i < request->count; i++) {
        Dwarf_Die function;
        if (find_function(dwarf, request->entries[i], &function))
            write_function(out, nowhere, &function, request->entries[i]);
    }
    if (fclose(out))
        return false;
    struct columns_file file;
    columns_file_start(&file, output);
    write_bytes(&file, "layouts.bytes", text, size);
    columns_file_finish(&file);
    return true;
}
