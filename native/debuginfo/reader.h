// What is gathered from one binary: who owns which address, and which source line it came from.
#ifndef WHYPERF_DEBUGINFO_READER_H
#define WHYPERF_DEBUGINFO_READER_H

#include "debuginfo/column.h"
#include "debuginfo/flatten.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

// A compilation, partial or type unit: the file table that its DIEs' numbers refer to.
struct unit {
    Dwarf *dwarf;
    Dwarf_Die die;
    Dwarf_Files *files;
    size_t file_count;
    int32_t *file_numbers; // in reader.files, -2 where not looked up yet
    const char *folder;    // of the compilation
    bool is_rust;
    bool types_hold_functions;
};

// What encloses a function by name: a namespace, a type or another function.
struct prefix {
    int32_t parent; // -1: nothing
    int32_t node;   // the function, else -1
    const char *name;
    int tag;
};

// A DW_TAG_subprogram; its attributes are read only if some code belongs to it.
struct node {
    Dwarf_Die die;
    int32_t unit;
    int32_t prefix;
    int32_t function; // FUNCTION_UNKNOWN until resolved
};

enum { FUNCTION_UNKNOWN = -2 };

struct function {
    int32_t name; // -1: none
    int32_t file; // -1: unknown
    int32_t line;
    int32_t object;  // for symbols: the object file it is local to, in reader.files; else -1
    uint8_t mangled; // a name that only the Python side can demangle
    uint8_t noreturn;
};

enum scope_kind { SCOPE_SYMBOL = 0, SCOPE_FUNCTION = 1, SCOPE_INLINED = 2, SCOPE_FRAGMENT = 3 };

// A stretch of code that one function's body became. Parents come before children.
struct scope {
    uint64_t entry;
    const void *origin; // the DIE that names it
    int32_t parent;     // -1: an out-of-line function
    int32_t function;
    int32_t call_file;
    int32_t call_line;
    uint8_t kind;
};

struct line_row {
    uint64_t address;
    int32_t file; // -1: end of a sequence
    int32_t line;
    uint32_t order;
};

struct reader {
    struct texts names, files;
    struct column units, prefixes, nodes, functions, scopes, ranges, rows, segments;
    struct column executable; // struct range
    struct pointer_map node_of_die, prefix_of_die, walked;
    uint32_t missing_split_units;
    bool has_dwarf;
};

void reader_start(struct reader *reader);
bool reader_is_code(const struct reader *reader, uint64_t low, uint64_t high);

// walk.c: every unit's functions and inlined instances.
void walk_dwarf(struct reader *reader, Dwarf *dwarf);
// The DIE after this one, given the null entry that ended its children where they were walked (else NULL). False after
// the last: then *null_entry is the one that ends this level, if known.
bool next_sibling(const struct unit *unit, Dwarf_Die *die, const char *end, Dwarf_Die *next, const char **null_entry);

// functions.c: names and declarations of what was found.
int32_t unit_file(struct reader *reader, struct unit *unit, size_t number);
void resolve_functions(struct reader *reader);

// lines.c
// `first_range`: where the ranges of the unit's functions start in reader.ranges, which end with them.
void read_lines(struct reader *reader, int32_t unit, size_t first_range);
void sort_lines(struct reader *reader);
// By address; where one sequence of lines ends and another begins, the end comes first.
int compare_line_rows(const void *left, const void *right);

// symbols.c
void read_symbols(struct reader *reader, Dwfl_Module *module);

// demangle.c
enum demangled { DEMANGLED, NOT_MANGLED, MANGLED_RUST_V0 };
void demangle_prepare(void);
enum demangled demangle(const char *symbol, char *name, size_t name_bytes);

#endif
