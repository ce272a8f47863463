// Symbols: all there is where debug information is missing. A symbol owns [value, value + size) and nothing more.
//
// Hand-written assembly leaves functions without a size: those reach to the next symbol of any kind or the end of
// their section. A symbol without a size that is not marked as a function owns nothing.
#include "debuginfo/reader.h"

#include <ctype.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
    uint64_t low, high;
    const char *name;
    size_t base_length; // without what compilers append to clones
    int32_t object;
    uint8_t binding;
    bool is_function;
    bool is_fragment;
};

static const char *const CLONE_SUFFIXES[] = {".cold", ".part",  ".constprop",  ".isra",     ".lto_priv",
                                             ".llvm", ".hot",   ".localalias", ".unlikely", ".clone",
                                             ".warm", ".split", ".__uniq"};
static const char *const FRAGMENT_SUFFIXES[] = {".cold", ".part", ".unlikely", ".hot", ".warm", ".split"};

static size_t suffix_length(const char *text) {
    for (size_t i = 0; i < sizeof CLONE_SUFFIXES / sizeof *CLONE_SUFFIXES; i++) {
        size_t length = strlen(CLONE_SUFFIXES[i]);
        if (strncmp(text, CLONE_SUFFIXES[i], length) || isalpha((unsigned char)text[length]))
            continue;
        if (text[length] == '.' && isdigit((unsigned char)text[length + 1]))
            length += 1 + strspn(text + length + 1, "0123456789");
        return length;
    }
    return 0;
}

static size_t base_length(const char *name) {
    size_t whole = strcspn(name, "@"); // symbol versions are not part of the name
    for (const char *dot = name + 1; *name && (dot = strchr(dot, '.')); dot++) {
        const char *end = dot;
        for (size_t length; (length = suffix_length(end)); end += length)
            ;
        if (end >= name + whole)
            return (size_t)(dot - name);
    }
    return whole;
}

static bool is_fragment(const char *suffixes) {
    for (size_t i = 0; i < sizeof FRAGMENT_SUFFIXES / sizeof *FRAGMENT_SUFFIXES; i++) {
        if (strstr(suffixes, FRAGMENT_SUFFIXES[i]))
            return true;
    }
    return false;
}

static void collect(struct reader *reader, Dwfl_Module *module, struct column *symbols) {
    int count = dwfl_module_getsymtab(module);
    int32_t object = -1;
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
        if (!name || !*name)
            continue;
        int type = GELF_ST_TYPE(symbol.st_info);
        if (type == STT_FILE) {
            object = texts_intern(&reader->files, name, strlen(name));
            continue;
        }
        bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
        if (section == SHN_UNDEF || (!is_function && type != STT_NOTYPE) ||
            !reader_is_code(reader, symbol.st_value, symbol.st_value + 1))
            continue;
        size_t length = base_length(name);
        uint64_t high = symbol.st_value + symbol.st_size;
        int binding = GELF_ST_BIND(symbol.st_info);
        *(struct symbol *)column_add(symbols) =
            (struct symbol){.low = symbol.st_value,
                            .high = reader_is_code(reader, symbol.st_value, high) ? high : symbol.st_value,
                            .name = name,
                            .base_length = length,
                            .object = binding == STB_LOCAL ? object : -1,
                            .binding = (uint8_t)binding,
                            .is_function = is_function || symbol.st_size,
                            .is_fragment = is_fragment(name + length)};
    }
}

static int binding_rank(int binding) {
    return binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

// Of several names for one address the one people know comes last: with a size, few underscores, global, short.
static int compare_symbols(const void *left, const void *right) {
    const struct symbol *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->is_function != b->is_function)
        return a->is_function ? 1 : -1;
    if ((a->high > a->low) != (b->high > b->low))
        return a->high > a->low ? 1 : -1;
    size_t underscores_a = strspn(a->name, "_"), underscores_b = strspn(b->name, "_");
    if (underscores_a != underscores_b)
        return underscores_a < underscores_b ? 1 : -1;
    if (a->binding != b->binding)
        return binding_rank(a->binding) - binding_rank(b->binding);
    size_t length_a = strlen(a->name), length_b = strlen(b->name);
    if (length_a != length_b)
        return length_a < length_b ? 1 : -1;
    return strcmp(b->name, a->name);
}

// Sorted, one per address, functions only, those without a size given one.
static void keep_functions(const struct reader *reader, struct column *symbols) {
    struct symbol *all = (struct symbol *)symbols->items;
    qsort(all, symbols->count, sizeof *all, compare_symbols);
    size_t kept = 0;
    for (size_t i = 0; i < symbols->count; i++) {
        bool last_of_address = i + 1 == symbols->count || all[i + 1].low != all[i].low;
        if (!last_of_address || !all[i].is_function)
            continue;
        struct symbol symbol = all[i];
        if (symbol.high == symbol.low) {
            for (size_t k = 0; k < reader->executable.count; k++) {
                const struct range *section = &COLUMN_AT(&reader->executable, struct range, k);
                if (section->low <= symbol.low && symbol.low < section->high)
                    symbol.high = section->high;
            }
            if (i + 1 < symbols->count && all[i + 1].low < symbol.high)
                symbol.high = all[i + 1].low;
        }
        all[kept++] = symbol;
    }
    symbols->count = kept;
}

static int32_t name_of(struct reader *reader, const struct symbol *symbol, uint8_t *mangled) {
    char raw[TEXT_BYTES_MAX], name[TEXT_BYTES_MAX];
    size_t length = symbol->base_length < sizeof raw ? symbol->base_length : sizeof raw - 1;
    memcpy(raw, symbol->name, length);
    raw[length] = 0;
    enum demangled result = demangle(raw, name, sizeof name);
    *mangled = result == MANGLED_RUST_V0;
    const char *text = result == DEMANGLED ? name : raw;
    return texts_intern(&reader->names, text, strlen(text));
}

static const void *identity(int32_t name, int32_t object) {
    return (const void *)(((uintptr_t)(uint32_t)(name + 1) << 32) | (uint32_t)(object + 2));
}

// A clone belongs to the function it was made from: one of its own object file, else the global one.
static int32_t object_of_clone(const struct pointer_map *originals, int32_t name, int32_t object) {
    uint32_t ignored;
    if (!pointer_map_get(originals, identity(name, object), &ignored) &&
        pointer_map_get(originals, identity(name, -1), &ignored))
        return -1;
    return object;
}

static void add_functions(struct reader *reader, const struct symbol *symbols, size_t count, int32_t *functions) {
    struct pointer_map originals = {0};
    for (size_t i = 0; i < count; i++) {
        struct function *function = column_add(&reader->functions);
        functions[i] = (int32_t)reader->functions.count - 1;
        *function = (struct function){.name = -1, .file = -1, .object = symbols[i].object};
        function->name = name_of(reader, &symbols[i], &function->mangled);
        if (!symbols[i].name[symbols[i].base_length])
            pointer_map_put(&originals, identity(function->name, function->object), 0);
    }
    for (size_t i = 0; i < count; i++) {
        struct function *function = &COLUMN_AT(&reader->functions, struct function, functions[i]);
        if (symbols[i].name[symbols[i].base_length])
            function->object = object_of_clone(&originals, function->name, function->object);
    }
    free(originals.keys);
    free(originals.values);
}

static const struct symbol *at_address(const struct column *symbols, uint64_t address) {
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (COLUMN_AT(symbols, struct symbol, middle).low < address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct symbol *found = &COLUMN_AT(symbols, struct symbol, low);
    return low < symbols->count && found->low == address ? found : NULL;
}

// What symbols know of functions that debug information describes: which are fragments, and missing names.
static void complete_scopes(struct reader *reader, const struct column *symbols, const int32_t *functions) {
    for (size_t i = 0; i < reader->scopes.count; i++) {
        struct scope *scope = &COLUMN_AT(&reader->scopes, struct scope, i);
        const struct symbol *symbol = scope->kind == SCOPE_FUNCTION ? at_address(symbols, scope->entry) : NULL;
        if (!symbol)
            continue;
        if (symbol->is_fragment)
            scope->kind = SCOPE_FRAGMENT;
        if (scope->function < 0)
            scope->function = functions[symbol - (const struct symbol *)symbols->items];
    }
}

void read_symbols(struct reader *reader, Dwfl_Module *module) {
    struct column symbols = COLUMN(struct symbol);
    collect(reader, module, &symbols);
    keep_functions(reader, &symbols);
    int32_t *functions = calloc(symbols.count + 1, sizeof *functions);
    if (!functions)
        return;
    add_functions(reader, (struct symbol *)symbols.items, symbols.count, functions);
    complete_scopes(reader, &symbols, functions);
    for (size_t i = 0; i < symbols.count; i++) {
        const struct symbol *symbol = &COLUMN_AT(&symbols, struct symbol, i);
        int32_t scope = (int32_t)reader->scopes.count;
        *(struct scope *)column_add(&reader->scopes) =
            (struct scope){.entry = symbol->low,
                           .parent = -1,
                           .function = functions[i],
                           .call_file = -1,
                           .kind = symbol->is_fragment ? SCOPE_FRAGMENT : SCOPE_SYMBOL};
        *(struct range *)column_add(&reader->ranges) = (struct range){symbol->low, symbol->high, scope, 0};
    }
    free(functions);
    free(symbols.items);
}
