// From debug information to the variables table (values/table.h): what can be read at which address, and how.
//
// Not-yet-assigned variables are no values. Where a compiler lists a variable's places address by address it lists none
// before the first assignment. Where it gives one place for a whole scope (-O0, and whatever has its address taken), a
// local counts from the first row of the line table that lies behind its declaration, or, where its stack slot is
// addressed by a register that the prologue sets, as at -O0, behind the first instruction that sets it, field by field;
// a parameter counts from the end of the prologue (variables_assigned.c).
#ifndef WHYPERF_DEBUGINFO_VARIABLES_H
#define WHYPERF_DEBUGINFO_VARIABLES_H

#include "debuginfo/extract.h"
#include "debuginfo/machine.h"
#include "debuginfo/reader.h"
#include "values/table.h"

enum variable_kind {
    KIND_SIGNED = 0,
    KIND_UNSIGNED = 1,
    KIND_FLOAT = 2,
    KIND_BOOLEAN = 3,
    KIND_ENUM = 4,
    KIND_POINTER = 5,
    KIND_SIZE = 6,
};

enum variable_scope { VARIABLE_PARAMETER = 0, VARIABLE_LOCAL = 1, VARIABLE_GLOBAL = 2 };

// A scalar within a type.
struct leaf {
    int32_t path; // in variables.names: "", "n", "a.n", "items.size()"
    int32_t type; // in variables.names
    int32_t offset;
    uint32_t scale; // of a VALUES_FLAG_SPAN
    uint8_t size, flags, kind;
    bool is_minor; // beyond the first few fields: for globals only
};

enum shape_form { SHAPE_NOTHING, SHAPE_VALUE, SHAPE_POINTER, SHAPE_REFERENCE, SHAPE_DYNAMIC_ARRAY };

// What of a type can be recorded.
struct shape {
    uint8_t form;
    bool constant;                       // const-qualified itself
    uint32_t first, count;               // leaves of the object
    uint32_t first_behind, behind_count; // leaves behind the pointer that it is
    uint64_t bytes;
    Dwarf_Attribute length; // of a dynamic array: its upper bound
};

// What the source declares: one for all copies of a function within a unit.
struct declaration {
    Dwarf_Die die;
    int32_t function; // in variables.functions, -1: none
    int32_t name, order, file, line;
    int32_t shape;
    uint8_t scope;
    int32_t first_row; // in variables.rows_of_leaves: object's leaves, then those behind; -1 until one is needed
    uint32_t first_field;
};

struct variable_row {
    int32_t function, name, type, file, line, order;
    uint8_t kind, scope;
};

struct variable_function {
    int32_t name, file, line; // name and file as in struct function
    uint8_t mangled;
};

// The physical function around a piece of code: what its expressions refer to.
struct body {
    const struct code_machine *machine;
    uint64_t entry;
    enum { FRAME_UNKNOWN, FRAME_CFA, FRAME_REGISTER } frame;
    uint8_t frame_register;
    int64_t frame_offset;
};

// Where one thing is, before it is cut into scalars.
struct place {
    uint8_t kind, reg;
    bool is_value; // an EXPRESSION that computes the value
    uint64_t address;
    int64_t offset;
    const uint8_t *block; // DW_OP_implicit_value: the bytes themselves; kind is CONSTANT
    size_t block_bytes;
    uint32_t entry;  // of the function whose entry values it needs; 0: none
    bool uses_dying; // needs a register that calls destroy
    uint8_t code[VALUES_EXPRESSION_BYTES];
    size_t code_bytes;
};

struct piece {
    struct place place;
    uint64_t offset, bytes;
    bool known;
};
enum { PIECES_MAX = 8 };

struct pieces {
    struct piece pieces[PIECES_MAX];
    size_t count;
};

struct live {
    uint32_t low, high; // high is the first address after it
    uint32_t location;
    uint32_t number; // the later, the further inside
};

// Interned byte strings: what the sections of the table become.
struct variables {
    struct reader *reader;
    const struct code_machine *machine;
    struct texts names; // variables, types, paths
    struct texts function_keys, row_keys, static_keys, static_names;
    struct column functions, rows, rows_of_leaves, declarations, shapes, leaves;
    struct pointer_map declaration_of_die, numbered, shape_of_type;
    struct texts locations, fields, expressions, lists, plans;
    struct column static_orders, static_counts; // int32_t, for each of static_keys and static_names
    struct column lives, globals, call_sites, call_parameters;
    struct column tail_callers; // uint64_t entries of functions that end in calls
    struct column tail_called;  // uint64_t entries of functions that are called so
    struct column segments;
    struct column line_rows; // struct line_row, sorted, all of them
    struct column code;      // struct code_bytes
    struct column scope_ranges;
    // Bytes of scope times scalar variables, and how many of those pairs can be read: without and with entry values.
    uint64_t pairs, readable, readable_at_entry;
};

struct code_bytes {
    uint64_t low, high;
    const uint8_t *bytes;
};

// variables_shape.c
int32_t shape_of(struct variables *variables, Dwarf_Die *type);

// variables_name.c
int32_t type_name(struct variables *variables, Dwarf_Die *type);

// variables_expression.c: rewrites an expression into the table's subset; false where it cannot say the same.
bool rewrite_expression(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operators, size_t count,
                        struct place *place);

// variables_operators.c
bool entry_register(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operator, uint8_t * reg);
// Whether calls may destroy what the register holds.
bool register_is_dying(const struct body *body, unsigned reg);
bool operator_address(Dwarf_Attribute *attribute, const Dwarf_Op *operator, uint64_t * address);
bool emit_bytes(struct place *place, const void *bytes, size_t count);
bool emit_operator(struct place *place, uint8_t operator);
bool emit_unsigned(struct place *place, uint8_t operator, uint64_t operand);
bool emit_signed(struct place *place, uint8_t operator, int64_t operand);

// variables_place.c
void read_body(struct body *body, const struct code_machine *machine, Dwarf_Die *function, uint64_t entry);
void read_pieces(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operators, size_t count,
                 uint64_t bytes, struct pieces *pieces);
bool read_value(const struct body *body, Dwarf_Attribute *attribute, const Dwarf_Op *operators, size_t count,
                struct place *place);
// The leaf's location within the thing; false where it is in none of the pieces.
bool locate_leaf(struct variables *variables, const struct pieces *pieces, const struct leaf *leaf,
                 struct values_location *location);
bool finish_location(struct variables *variables, const struct place *place, struct values_location *location);

// variables_assigned.c
void sort_line_rows(struct variables *variables);
// Shrinks [*low, *high), a part of the scope that begins at `scope_low`, to where a scalar of a variable with one place
// for its whole scope holds what the program put there.
bool assigned_range(const struct variables *variables, const struct declaration *declaration, const struct body *body,
                    const struct place *place, const struct leaf *leaf, uint64_t scope_low, uint64_t *low,
                    uint64_t *high);
const uint8_t *code_at(const struct variables *variables, uint64_t low, uint64_t high);

// variables_rows.c
int32_t function_number(struct variables *variables, const void *die);
struct declaration *declaration_of(struct variables *variables, Dwarf_Die *die, int32_t function);
void number_declarations(struct variables *variables, Dwarf_Die *root, int32_t function);
int32_t declare(struct variables *variables, Dwarf_Die *die, int32_t function, int32_t name, int32_t order);
void give_rows(struct variables *variables, struct declaration *declaration);
// Tells globals of one name and file apart: 0 for the first of them.
int32_t static_order(struct variables *variables, const struct declaration *declaration, const struct place *place);

// variables_walk.c
void walk_variables(struct variables *variables);

// variables_calls.c
void read_call_site(struct variables *variables, Dwarf_Die *die, const struct body *body);
void drop_uncertain_entries(struct variables *variables, bool *dropped);

// variables_plan.c
void make_plans(struct variables *variables);

// variables_table.c
void make_segments(struct variables *variables, const bool *dropped);
char *table_image(struct variables *variables, size_t *size);
uint64_t table_hash(const void *bytes, size_t size);

// variables.c
bool extract_variables(void *request, int output);

#endif
