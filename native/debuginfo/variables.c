// One binary's variables, from the file to the columns that the Python side stores.
#define _GNU_SOURCE
#include "debuginfo/variables.h"

#include "debuginfo/binary_file.h"
#include "debuginfo/columns_file.h"
#include "debuginfo/isolate.h"

#include <gelf.h>
#include <stdlib.h>

static void start(struct variables *variables, struct reader *reader) {
    *variables = (struct variables){
        .reader = reader,
        .functions = COLUMN(struct variable_function),
        .rows = COLUMN(struct variable_row),
        .rows_of_leaves = COLUMN(int32_t),
        .declarations = COLUMN(struct declaration),
        .shapes = COLUMN(struct shape),
        .leaves = COLUMN(struct leaf),
        .static_orders = COLUMN(int32_t),
        .static_counts = COLUMN(int32_t),
        .lives = COLUMN(struct live),
        .globals = COLUMN(uint32_t),
        .call_sites = COLUMN(struct values_call_site),
        .call_parameters = COLUMN(struct values_call_parameter),
        .tail_callers = COLUMN(uint64_t),
        .tail_called = COLUMN(uint64_t),
        .segments = COLUMN(struct values_segment),
        .code = COLUMN(struct code_bytes),
        .scope_ranges = COLUMN(struct range),
    };
    struct texts *interned[] = {&variables->names,       &variables->function_keys, &variables->row_keys,
                                &variables->static_keys, &variables->static_names,  &variables->locations,
                                &variables->fields,      &variables->expressions,   &variables->lists,
                                &variables->plans};
    for (size_t i = 0; i < sizeof interned / sizeof *interned; i++)
        texts_start(interned[i]);
}

static void read_code(struct variables *variables, Elf *elf) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        Elf_Data *data;
        if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR) && header.sh_type == SHT_PROGBITS &&
            (data = elf_getdata(section, NULL)) && data->d_buf)
            *(struct code_bytes *)column_add(&variables->code) =
                (struct code_bytes){header.sh_addr, header.sh_addr + data->d_size, data->d_buf};
    }
}

static void write_columns(struct variables *variables, int output) {
    struct columns_file file;
    columns_file_start(&file, output);
    uint64_t summary[] = {variables->pairs, variables->readable, variables->readable_at_entry};
    write_bytes(&file, "summary.count", (const char *)summary, sizeof summary);
    size_t size;
    char *image = table_image(variables, &size);
    write_bytes(&file, "table.bytes", image, size);
    write_texts(&file, "name.bytes", "name.offsets", &variables->names);
    write_texts(&file, "function_name.bytes", "function_name.offsets", &variables->reader->names);
    write_texts(&file, "file.bytes", "file.offsets", &variables->reader->files);
    WRITE_FIELD(&file, "function.name", &variables->functions, variable_function, name);
    WRITE_FIELD(&file, "function.file", &variables->functions, variable_function, file);
    WRITE_FIELD(&file, "function.line", &variables->functions, variable_function, line);
    WRITE_FIELD(&file, "function.mangled", &variables->functions, variable_function, mangled);
    WRITE_FIELD(&file, "variable.function", &variables->rows, variable_row, function);
    WRITE_FIELD(&file, "variable.name", &variables->rows, variable_row, name);
    WRITE_FIELD(&file, "variable.type", &variables->rows, variable_row, type);
    WRITE_FIELD(&file, "variable.file", &variables->rows, variable_row, file);
    WRITE_FIELD(&file, "variable.line", &variables->rows, variable_row, line);
    WRITE_FIELD(&file, "variable.order", &variables->rows, variable_row, order);
    WRITE_FIELD(&file, "variable.kind", &variables->rows, variable_row, kind);
    WRITE_FIELD(&file, "variable.scope_kind", &variables->rows, variable_row, scope);
    columns_file_finish(&file);
}

bool extract_variables(void *argument, int output) {
    const struct extract_request *request = argument;
    struct reader reader;
    struct binary_file binary;
    if (!open_binary(request, &reader, &binary))
        return false;
    GElf_Addr bias;
    Dwarf *dwarf = dwfl_module_getdwarf(binary.module, &bias);
    if (!dwarf)
        return false;
    struct variables variables;
    start(&variables, &reader);
    variables.machine = code_machine(binary.elf_machine);
    read_code(&variables, binary.elf);
    walk_dwarf(&reader, dwarf);
    resolve_functions(&reader);
    sort_line_rows(&variables);
    walk_variables(&variables);
    bool *dropped = calloc(variables.locations.offsets.count, sizeof *dropped);
    if (!dropped)
        isolate_give_up();
    drop_uncertain_entries(&variables, dropped);
    make_segments(&variables, dropped);
    make_plans(&variables);
    write_columns(&variables, output);
    return true;
}
