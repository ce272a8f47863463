// Names and declarations. A function's DIE often says nothing itself but where to look: an abstract instance
// (DW_AT_abstract_origin) or the declaration in a class (DW_AT_specification), possibly in another unit or file.
#include "debuginfo/reader.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORIGINS_MAX = 16, PREFIXES_MAX = 64, PATH_BYTES = 8192 };

// Resolves "." and ".." by their names alone: the folders need not exist here. `path` starts with '/'.
static size_t normalise(char *path) {
    char *out = path;
    for (char *in = path; *in;) {
        while (*in == '/')
            in++;
        size_t length = strcspn(in, "/");
        if (length == 2 && in[0] == '.' && in[1] == '.') {
            while (out > path && *--out != '/')
                ;
        } else if (length && !(length == 1 && in[0] == '.')) {
            *out++ = '/';
            memmove(out, in, length);
            out += length;
        }
        in += length;
    }
    return (size_t)(out - path);
}

static int32_t intern_path(struct reader *reader, const char *folder, const char *file) {
    char path[PATH_BYTES];
    // Compilers write "<artificial>" or "<built-in>" for code without a source.
    if (file[0] == '<' || strstr(file, "/<"))
        return -1;
    bool absolute = file[0] == '/' || !folder || folder[0] != '/';
    int length =
        absolute ? snprintf(path, sizeof path, "%s", file) : snprintf(path, sizeof path, "%s/%s", folder, file);
    if (length < 0 || length >= (int)sizeof path)
        return -1;
    return texts_intern(&reader->files, path, path[0] == '/' ? normalise(path) : (size_t)length);
}

int32_t unit_file(struct reader *reader, struct unit *unit, size_t number) {
    if (number >= unit->file_count)
        return -1;
    if (!unit->file_numbers) {
        unit->file_numbers = malloc(unit->file_count * sizeof *unit->file_numbers);
        if (!unit->file_numbers)
            return -1;
        for (size_t i = 0; i < unit->file_count; i++)
            unit->file_numbers[i] = -2;
    }
    if (unit->file_numbers[number] == -2) {
        const char *file = dwarf_filesrc(unit->files, number, NULL, NULL);
        unit->file_numbers[number] = file && *file ? intern_path(reader, unit->folder, file) : -1;
    }
    return unit->file_numbers[number];
}

// What a chain of origins says, the first word counting.
struct declaration {
    const char *name, *linkage_name;
    int32_t prefix;
    int32_t file;
    int32_t line;
    bool noreturn, is_rust;
};

static const char *text(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static void read_node(struct reader *reader, const struct node *node, Dwarf_Die *die, struct declaration *found) {
    struct unit *unit = node ? &COLUMN_AT(&reader->units, struct unit, node->unit) : NULL;
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    if (!found->name && (found->name = text(die, DW_AT_name)))
        found->prefix = node ? node->prefix : -1;
    if (!found->linkage_name)
        found->linkage_name = text(die, DW_AT_linkage_name);
    if (!found->linkage_name)
        found->linkage_name = text(die, DW_AT_MIPS_linkage_name);
    if (found->file < 0 && unit && dwarf_attr(die, DW_AT_decl_file, &attribute) &&
        !dwarf_formudata(&attribute, &number))
        found->file = unit_file(reader, unit, number);
    if (!found->line && dwarf_attr(die, DW_AT_decl_line, &attribute) && !dwarf_formudata(&attribute, &number))
        found->line = number > INT32_MAX ? 0 : (int32_t)number;
    found->noreturn |= dwarf_hasattr(die, DW_AT_noreturn);
    found->is_rust |= unit && unit->is_rust;
}

static struct declaration follow(struct reader *reader, Dwarf_Die die) {
    struct declaration found = {.prefix = -1, .file = -1};
    for (int i = 0; i < ORIGINS_MAX; i++) {
        uint32_t number;
        bool known = pointer_map_get(&reader->node_of_die, die.addr, &number);
        read_node(reader, known ? &COLUMN_AT(&reader->nodes, struct node, number) : NULL, &die, &found);
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && !dwarf_attr(&die, DW_AT_specification, &attribute))
            break;
        if (!dwarf_formref_die(&attribute, &next))
            break;
        die = next;
    }
    return found;
}

struct builder {
    char text[TEXT_BYTES_MAX];
    size_t length;
};

static void append_bytes(struct builder *builder, const char *text, size_t length) {
    if (length > sizeof builder->text - builder->length)
        length = sizeof builder->text - builder->length;
    memcpy(builder->text + builder->length, text, length);
    builder->length += length;
}

// Clang names lambdas by file, line and column, "(lambda at a.cc:66:43)": any edit above would rename them.
static void append(struct builder *builder, const char *text) {
    const char *lambda;
    while ((lambda = strstr(text, "(lambda at "))) {
        append_bytes(builder, text, (size_t)(lambda - text));
        append_bytes(builder, "{lambda}", 8);
        text = lambda + strcspn(lambda, ")");
        text += *text == ')';
    }
    append_bytes(builder, text, strlen(text));
}

static const char *prefix_name(const struct prefix *prefix, const char *member) {
    if (prefix->name)
        return prefix->name;
    if (prefix->tag == DW_TAG_namespace)
        return "(anonymous namespace)";
    return prefix->tag == DW_TAG_class_type || !strcmp(member, "operator()") ? "{lambda}" : "(anonymous)";
}

// Appends what encloses `member`; false if some function around it has no name of its own.
static bool append_prefix(struct reader *reader, struct builder *builder, int32_t number, const char *member,
                          int depth) {
    if (number < 0)
        return true;
    struct prefix prefix = COLUMN_AT(&reader->prefixes, struct prefix, number);
    const char *name = NULL;
    int32_t parent = prefix.parent;
    if (prefix.node >= 0) {
        struct declaration outer = follow(reader, COLUMN_AT(&reader->nodes, struct node, prefix.node).die);
        name = outer.name;
        parent = outer.prefix;
    } else {
        name = prefix_name(&prefix, member);
    }
    if (!name || depth > PREFIXES_MAX || !append_prefix(reader, builder, parent, name, depth + 1))
        return false;
    append(builder, name);
    append(builder, "::");
    return true;
}

// Rust's DIEs name the impl block ({impl#3}) where its symbols name the type: the symbol reads better.
static bool name_by_symbol(struct reader *reader, const struct declaration *found, struct function *function) {
    char name[TEXT_BYTES_MAX];
    if (!found->linkage_name)
        return false;
    switch (demangle(found->linkage_name, name, sizeof name)) {
    case DEMANGLED:
        function->name = texts_intern(&reader->names, name, strlen(name));
        return true;
    case MANGLED_RUST_V0:
        function->name = texts_intern(&reader->names, found->linkage_name, strlen(found->linkage_name));
        function->mangled = true;
        return true;
    default:
        return false;
    }
}

static struct function describe(struct reader *reader, Dwarf_Die die) {
    struct declaration found = follow(reader, die);
    struct function function = {.name = -1,
                                .file = found.file,
                                .line = found.file < 0 ? 0 : found.line,
                                .object = -1,
                                .noreturn = found.noreturn};
    if (found.is_rust && name_by_symbol(reader, &found, &function))
        return function;
    struct builder builder = {.length = 0};
    const char *own = found.name ? found.name : found.linkage_name;
    bool qualified = found.name && append_prefix(reader, &builder, found.prefix, found.name, 0);
    if (!own || (!qualified && name_by_symbol(reader, &found, &function)))
        return function;
    append(&builder, own);
    function.name = texts_intern(&reader->names, builder.text, builder.length);
    return function;
}

static int32_t function_of(struct reader *reader, const void *die) {
    uint32_t number;
    if (!pointer_map_get(&reader->node_of_die, die, &number))
        return -1;
    struct node *node = &COLUMN_AT(&reader->nodes, struct node, number);
    if (node->function == FUNCTION_UNKNOWN) {
        node->function = -1;
        struct function function = describe(reader, node->die);
        if (function.name >= 0) {
            node->function = (int32_t)reader->functions.count;
            *(struct function *)column_add(&reader->functions) = function;
        }
    }
    return node->function;
}

void resolve_functions(struct reader *reader) {
    for (size_t i = 0; i < reader->scopes.count; i++) {
        struct scope *scope = &COLUMN_AT(&reader->scopes, struct scope, i);
        scope->function = function_of(reader, scope->origin);
    }
}
