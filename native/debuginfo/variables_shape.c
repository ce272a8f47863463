// Which scalars a type holds: itself, its fields, what lies behind the pointer that it is, a container's size.
#include "debuginfo/variables.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 256, COLLECTED_MAX = 512, FIELDS_MAX = 16, GLOBAL_FIELDS_MAX = 256, BASES_MAX = 6, PEEL_MAX = 32 };

static bool reference(Dwarf_Die *die, unsigned name, Dwarf_Die *target) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) && dwarf_formref_die(&attribute, target);
}

static bool integer(Dwarf_Die *die, unsigned name, Dwarf_Word *value) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, value);
}

// Through typedefs and qualifiers, and from a declaration to the type unit that defines it.
static bool peel(Dwarf_Die *type, Dwarf_Die *peeled, bool *constant) {
    *peeled = *type;
    *constant = false;
    for (int i = 0; i < PEEL_MAX; i++) {
        Dwarf_Die defined;
        switch (dwarf_tag(peeled)) {
        case DW_TAG_const_type:
            *constant = true;
            break;
        case DW_TAG_typedef:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
            break;
        default:
            if (dwarf_hasattr(peeled, DW_AT_declaration) && reference(peeled, DW_AT_signature, &defined))
                *peeled = defined;
            return true;
        }
        if (!reference(peeled, DW_AT_type, peeled))
            return false;
    }
    return false;
}

// Reading such memory may do something: devices are mapped so.
static bool is_volatile(Dwarf_Die type) {
    for (int i = 0; i < PEEL_MAX; i++) {
        int tag = dwarf_tag(&type);
        if (tag == DW_TAG_volatile_type)
            return true;
        if ((tag != DW_TAG_const_type && tag != DW_TAG_typedef && tag != DW_TAG_restrict_type) ||
            !reference(&type, DW_AT_type, &type))
            return false;
    }
    return false;
}

static bool is_record(int tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

static bool is_pointer(int tag) {
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

// Fills kind, size and flags for a type that is a scalar.
static bool scalar(Dwarf_Die *peeled, struct leaf *leaf) {
    int tag = dwarf_tag(peeled);
    Dwarf_Word bytes = 0, encoding = 0;
    if (is_pointer(tag)) {
        *leaf = (struct leaf){.size = 8, .flags = VALUES_FLAG_POINTER, .kind = KIND_POINTER};
        return true;
    }
    Dwarf_Die underlying;
    bool is_enum = tag == DW_TAG_enumeration_type, ignored;
    if (!integer(peeled, DW_AT_byte_size, &bytes) || (!is_enum && tag != DW_TAG_base_type))
        return false;
    if (is_enum) {
        encoding = DW_ATE_unsigned;
        Dwarf_Die base;
        if (reference(peeled, DW_AT_type, &underlying) && peel(&underlying, &base, &ignored))
            integer(&base, DW_AT_encoding, &encoding);
    } else {
        integer(peeled, DW_AT_encoding, &encoding);
    }
    *leaf = (struct leaf){.size = (uint8_t)bytes};
    switch (encoding) {
    case DW_ATE_signed:
    case DW_ATE_signed_char:
        leaf->kind = KIND_SIGNED;
        leaf->flags = VALUES_FLAG_SIGNED;
        break;
    case DW_ATE_unsigned:
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF:
    case DW_ATE_ASCII:
        leaf->kind = KIND_UNSIGNED;
        break;
    case DW_ATE_boolean:
        leaf->kind = KIND_BOOLEAN;
        break;
    case DW_ATE_float:
        leaf->kind = KIND_FLOAT;
        leaf->flags = VALUES_FLAG_FLOAT;
        return bytes == 4 || bytes == 8;
    default:
        return false;
    }
    if (is_enum)
        leaf->kind = KIND_ENUM;
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

// What a pointer to one points to is text or a buffer.
static bool is_character(Dwarf_Die *peeled) {
    struct leaf leaf;
    return scalar(peeled, &leaf) && leaf.size == 1 && leaf.kind != KIND_BOOLEAN && leaf.kind != KIND_ENUM;
}

struct member {
    int64_t offset;
    Dwarf_Die type; // peeled
    Dwarf_Die stated;
    const char *name;
};

// The next data member or base class at or after *child; false at the end. Static members, bit-fields, virtual
// bases and the compiler's own members (_vptr) are passed over.
static bool next_member(Dwarf_Die *child, bool *more, struct member *member) {
    for (; *more; *more = !dwarf_siblingof(child, child)) {
        int tag = dwarf_tag(child);
        bool ignored;
        Dwarf_Word offset = 0;
        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(child, DW_AT_bit_size) ||
            dwarf_hasattr(child, DW_AT_external) || dwarf_hasattr(child, DW_AT_declaration) ||
            dwarf_hasattr(child, DW_AT_artificial))
            continue;
        Dwarf_Attribute attribute;
        if (dwarf_attr(child, DW_AT_data_member_location, &attribute) && dwarf_formudata(&attribute, &offset))
            continue;
        if (offset > INT32_MAX / 2 || !reference(child, DW_AT_type, &member->stated) ||
            !peel(&member->stated, &member->type, &ignored))
            continue;
        member->offset = (int64_t)offset;
        member->name = tag == DW_TAG_member ? dwarf_diename(child) : NULL;
        *more = !dwarf_siblingof(child, child);
        return true;
    }
    return false;
}

// A member of that name, however deep within bases and members.
static bool find_member(Dwarf_Die *type, const char *name, int depth, struct member *found) {
    Dwarf_Die child;
    bool more = depth < BASES_MAX && !dwarf_child(type, &child);
    struct member member;
    while (next_member(&child, &more, &member)) {
        if (member.name && !strcmp(member.name, name)) {
            *found = member;
            return true;
        }
        if (is_record(dwarf_tag(&member.type)) && find_member(&member.type, name, depth + 1, found)) {
            found->offset += member.offset;
            return true;
        }
    }
    return false;
}

struct container {
    const char *type, *size, *start, *end;
};

// The standard library's containers, libstdc++ and libc++: a member that is the size, or two that enclose it.
static const struct container CONTAINERS[] = {
    {"vector<", NULL, "_M_start", "_M_finish"},
    {"vector<", NULL, "__begin_", "__end_"},
    {"basic_string<", "_M_string_length", NULL, NULL},
    {"map<", "_M_node_count", NULL, NULL},
    {"set<", "_M_node_count", NULL, NULL},
    {"multimap<", "_M_node_count", NULL, NULL},
    {"multiset<", "_M_node_count", NULL, NULL},
    {"unordered_map<", "_M_element_count", NULL, NULL},
    {"unordered_set<", "_M_element_count", NULL, NULL},
    {"list<", "_M_size", NULL, NULL},
};

static bool container_span(Dwarf_Die *type, const struct container *container, struct leaf *leaf) {
    struct member start, end;
    Dwarf_Die element;
    Dwarf_Word bytes = 0;
    if (!find_member(type, container->start, 0, &start) || !find_member(type, container->end, 0, &end) ||
        dwarf_tag(&start.type) != DW_TAG_pointer_type || end.offset != start.offset + 8 ||
        !reference(&start.type, DW_AT_type, &element) || dwarf_aggregate_size(&element, &bytes) || !bytes ||
        bytes > UINT32_MAX)
        return false;
    *leaf = (struct leaf){.offset = (int32_t)start.offset,
                          .scale = (uint32_t)bytes,
                          .size = 8,
                          .flags = VALUES_FLAG_SPAN,
                          .kind = KIND_SIZE};
    return true;
}

// The size of a type that is a container.
static bool container_size(Dwarf_Die *type, struct leaf *leaf) {
    const char *name = dwarf_diename(type);
    for (size_t i = 0; name && i < sizeof CONTAINERS / sizeof *CONTAINERS; i++) {
        const struct container *container = &CONTAINERS[i];
        struct member size;
        if (strncmp(name, container->type, strlen(container->type)))
            continue;
        if (!container->size) {
            if (container_span(type, container, leaf))
                return true;
        } else if (find_member(type, container->size, 0, &size) && scalar(&size.type, leaf) && leaf->size == 8) {
            leaf->offset = (int32_t)size.offset;
            leaf->kind = KIND_SIZE;
            return true;
        }
    }
    return false;
}

static bool is_atomic(Dwarf_Die *type) {
    const char *name = dwarf_diename(type);
    return name && !strncmp(name, "atomic<", 7);
}

struct collection {
    struct leaf leaves[COLLECTED_MAX];
    size_t count;
};

static void add_leaf(struct variables *variables, struct collection *collection, struct leaf leaf, int64_t offset,
                     const char *path, Dwarf_Die *type) {
    if (collection->count == COLLECTED_MAX || offset + leaf.offset > INT32_MAX)
        return;
    leaf.offset += (int32_t)offset;
    leaf.path = texts_intern(&variables->names, path, strlen(path));
    leaf.type = type_name(variables, type);
    collection->leaves[collection->count++] = leaf;
}

static void collect(struct variables *variables, struct collection *collection, Dwarf_Die *type, int64_t base,
                    const char *prefix, int nested, int depth) {
    Dwarf_Die child;
    bool more = depth < BASES_MAX && !dwarf_child(type, &child);
    struct member member;
    while (next_member(&child, &more, &member)) {
        char path[PATH_BYTES];
        struct leaf leaf;
        const char *separator = *prefix && member.name ? "." : "";
        snprintf(path, sizeof path, "%s%s%s", prefix, separator, member.name ? member.name : "");
        int64_t offset = base + member.offset;
        if (member.name && scalar(&member.type, &leaf)) {
            add_leaf(variables, collection, leaf, offset, path, &member.stated);
        } else if (is_record(dwarf_tag(&member.type))) {
            struct member inner;
            if (container_size(&member.type, &leaf)) { // as a base class, too
                strncat(path, *path ? ".size()" : "size()", sizeof path - strlen(path) - 1);
                add_leaf(variables, collection, leaf, offset, path, &member.stated);
            } else if (member.name && is_atomic(&member.type) && find_member(&member.type, "_M_i", 0, &inner) &&
                       scalar(&inner.type, &leaf)) {
                add_leaf(variables, collection, leaf, offset + inner.offset, path, &inner.stated);
            } else if (!member.name || !nested) {
                collect(variables, collection, &member.type, offset, path, nested + (member.name != NULL), depth + 1);
            }
        }
    }
}

// Numbers before pointers, then what lies near the start.
static int by_worth(const void *left, const void *right) {
    const struct leaf *a = left, *b = right;
    int pointers = (a->kind == KIND_POINTER) - (b->kind == KIND_POINTER);
    return pointers ? pointers : a->offset != b->offset ? (a->offset < b->offset ? -1 : 1) : a->path - b->path;
}

static int by_offset(const void *left, const void *right) {
    const struct leaf *a = left, *b = right;
    return a->offset != b->offset ? (a->offset < b->offset ? -1 : 1) : a->path - b->path;
}

// Appends the leaves of a scalar, a container or a record.
static uint32_t add_leaves(struct variables *variables, Dwarf_Die *stated, Dwarf_Die *type, size_t most) {
    struct collection collection = {.count = 0};
    struct leaf leaf;
    if (scalar(type, &leaf)) {
        add_leaf(variables, &collection, leaf, 0, "", stated);
    } else if (is_record(dwarf_tag(type))) {
        if (container_size(type, &leaf))
            add_leaf(variables, &collection, leaf, 0, "size()", stated);
        else
            collect(variables, &collection, type, 0, "", 0, 0);
    }
    qsort(collection.leaves, collection.count, sizeof leaf, by_worth);
    if (collection.count > most)
        collection.count = most;
    for (size_t i = 0; i < collection.count; i++)
        collection.leaves[i].is_minor = i >= FIELDS_MAX;
    qsort(collection.leaves, collection.count, sizeof leaf, by_offset);
    for (size_t i = 0; i < collection.count; i++)
        *(struct leaf *)column_add(&variables->leaves) = collection.leaves[i];
    return (uint32_t)collection.count;
}

static bool dynamic_array(Dwarf_Die *array, Dwarf_Attribute *length) {
    Dwarf_Die child;
    if (dwarf_tag(array) != DW_TAG_array_type || dwarf_child(array, &child))
        return false;
    return dwarf_tag(&child) == DW_TAG_subrange_type && dwarf_attr(&child, DW_AT_upper_bound, length) &&
           dwarf_whatform(length) == DW_FORM_exprloc;
}

static struct shape make_shape(struct variables *variables, Dwarf_Die *stated) {
    struct shape shape = {.form = SHAPE_NOTHING};
    Dwarf_Die type, target, behind;
    bool ignored;
    Dwarf_Word bytes;
    if (!peel(stated, &type, &shape.constant))
        return shape;
    int tag = dwarf_tag(&type);
    shape.bytes = is_pointer(tag) ? 8 : dwarf_aggregate_size(&type, &bytes) ? 0 : bytes;
    shape.first = (uint32_t)variables->leaves.count;
    if (dynamic_array(&type, &shape.length)) {
        struct collection collection = {.count = 0};
        add_leaf(variables, &collection, (struct leaf){.size = 8, .kind = KIND_SIZE}, 0, "", stated);
        *(struct leaf *)column_add(&variables->leaves) = collection.leaves[0];
        shape.form = SHAPE_DYNAMIC_ARRAY;
        shape.count = 1;
        return shape;
    }
    shape.count = add_leaves(variables, stated, &type, GLOBAL_FIELDS_MAX);
    if (shape.count)
        shape.form = SHAPE_VALUE;
    if (is_pointer(tag)) {
        shape.form = tag == DW_TAG_pointer_type ? SHAPE_POINTER : SHAPE_REFERENCE;
        shape.first_behind = (uint32_t)variables->leaves.count;
        if (reference(&type, DW_AT_type, &target) && peel(&target, &behind, &ignored) && !is_character(&behind) &&
            !is_volatile(target))
            shape.behind_count = add_leaves(variables, &target, &behind, FIELDS_MAX);
    }
    return shape;
}

int32_t shape_of(struct variables *variables, Dwarf_Die *type) {
    uint32_t known;
    if (pointer_map_get(&variables->shape_of_type, type->addr, &known))
        return (int32_t)known;
    struct shape shape = make_shape(variables, type);
    known = (uint32_t)variables->shapes.count;
    *(struct shape *)column_add(&variables->shapes) = shape;
    pointer_map_put(&variables->shape_of_type, type->addr, known);
    return (int32_t)known;
}
