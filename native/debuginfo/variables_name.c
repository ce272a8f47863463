// Types as people write them.
#include "debuginfo/variables.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256, DEPTH_MAX = 8 };

static bool ends_in_star(const char *name) {
    size_t length = strlen(name);
    return length && name[length - 1] == '*';
}

static void write_name(Dwarf_Die *type, char *name, size_t bytes, int depth) {
    int tag = dwarf_tag(type);
    const char *own = dwarf_diename(type);
    Dwarf_Attribute attribute;
    Dwarf_Die inner;
    char inside[NAME_BYTES] = "void";
    bool has_inner = dwarf_attr(type, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, &inner);
    bool wraps = tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type ||
                 tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
                 tag == DW_TAG_atomic_type || tag == DW_TAG_array_type;
    if (wraps && has_inner && depth < DEPTH_MAX)
        write_name(&inner, inside, sizeof inside, depth + 1);
    switch (tag) {
    case DW_TAG_pointer_type:
        snprintf(name, bytes, ends_in_star(inside) ? "%s*" : "%s *", inside);
        return;
    case DW_TAG_reference_type:
        snprintf(name, bytes, "%s &", inside);
        return;
    case DW_TAG_rvalue_reference_type:
        snprintf(name, bytes, "%s &&", inside);
        return;
    case DW_TAG_const_type:
        snprintf(name, bytes, ends_in_star(inside) ? "%s const" : "const %s", inside);
        return;
    case DW_TAG_volatile_type:
        snprintf(name, bytes, "volatile %s", inside);
        return;
    case DW_TAG_array_type:
        snprintf(name, bytes, "%s[]", inside);
        return;
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
        snprintf(name, bytes, "%s", inside);
        return;
    case DW_TAG_subroutine_type:
        snprintf(name, bytes, "function");
        return;
    case DW_TAG_structure_type:
        snprintf(name, bytes, "struct %s", own ? own : "{...}");
        return;
    case DW_TAG_union_type:
        snprintf(name, bytes, "union %s", own ? own : "{...}");
        return;
    case DW_TAG_enumeration_type:
        snprintf(name, bytes, "enum %s", own ? own : "{...}");
        return;
    default:
        snprintf(name, bytes, "%s", own ? own : "?");
    }
}

int32_t type_name(struct variables *variables, Dwarf_Die *type) {
    char name[NAME_BYTES];
    write_name(type, name, sizeof name, 0);
    return texts_intern(&variables->names, name, strlen(name));
}
