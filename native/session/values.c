#include <stdlib.h>
#include <string.h>

#include "session/bindings.h"
#include "values/unpack.h"

// Rows of the values table, growing together.
struct rows {
    size_t count, capacity;
    int32_t *table, *variable, *sample, *place;
    int16_t *depth;
    int64_t *value;
    // Of the sample that is being unpacked.
    int32_t current_sample;
    const int64_t *current_places;
    const int32_t *place_table;
};

static bool grow_column(void **column, size_t bytes) {
    void *more = realloc(*column, bytes);
    if (more)
        *column = more;
    return more != NULL;
}

static bool grow_rows(struct rows *rows) {
    size_t capacity = rows->capacity ? rows->capacity * 2 : 1 << 16;
    bool grown = grow_column((void **)&rows->table, capacity * sizeof *rows->table) &&
                 grow_column((void **)&rows->variable, capacity * sizeof *rows->variable) &&
                 grow_column((void **)&rows->sample, capacity * sizeof *rows->sample) &&
                 grow_column((void **)&rows->place, capacity * sizeof *rows->place) &&
                 grow_column((void **)&rows->depth, capacity * sizeof *rows->depth) &&
                 grow_column((void **)&rows->value, capacity * sizeof *rows->value);
    if (grown)
        rows->capacity = capacity;
    return grown;
}

static bool take_row(void *context, const struct values_unpacked *unpacked) {
    struct rows *rows = context;
    if (rows->count == rows->capacity && !grow_rows(rows))
        return false;
    size_t row = rows->count++;
    int64_t place = rows->current_places[unpacked->depth];
    rows->table[row] = rows->place_table[place];
    rows->variable[row] = (int32_t)unpacked->variable;
    rows->sample[row] = rows->current_sample;
    rows->place[row] = (int32_t)place;
    rows->depth[row] = (int16_t)unpacked->depth;
    rows->value[row] = unpacked->value;
    return true;
}

static void release_rows(struct rows *rows) {
    free(rows->table);
    free(rows->variable);
    free(rows->sample);
    free(rows->place);
    free(rows->depth);
    free(rows->value);
}

enum { DEEPEST = 256 };

struct input {
    Py_buffer samples, ends, packed;                  // of the packed values: int32, int64, bytes
    Py_buffer sample_stack, stack_ends, stack_places; // int64 each
    Py_buffer place_table, place_address;             // int32, uint64
    PyObject *tables;
};

static size_t items(const Py_buffer *buffer, size_t size) {
    return (size_t)buffer->len / size;
}

static bool is_consistent(const struct input *in, size_t table_count) {
    const int64_t *ends = in->ends.buf, *stack_ends = in->stack_ends.buf, *places = in->stack_places.buf;
    const int64_t *sample_stack = in->sample_stack.buf;
    const int32_t *samples = in->samples.buf, *place_table = in->place_table.buf;
    size_t count = items(&in->samples, 4), stacks = items(&in->stack_ends, 8), place_count = items(&in->place_table, 4);
    if (items(&in->ends, 8) != count || items(&in->place_address, 8) != place_count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (ends[i] < (i ? ends[i - 1] : 0) || ends[i] > in->packed.len ||
            samples[i] >= (int64_t)items(&in->sample_stack, 8))
            return false;
    for (size_t i = 0; i < items(&in->sample_stack, 8); i++)
        if (sample_stack[i] >= (int64_t)stacks)
            return false;
    for (size_t i = 0; i < stacks; i++)
        if (stack_ends[i] < (i ? stack_ends[i - 1] : 0) || (size_t)stack_ends[i] > items(&in->stack_places, 8))
            return false;
    for (size_t i = 0; i < items(&in->stack_places, 8); i++)
        if (places[i] < 0 || (size_t)places[i] >= place_count)
            return false;
    for (size_t i = 0; i < place_count; i++)
        if (place_table[i] >= (int32_t)table_count)
            return false;
    return true;
}

// Returns the number of samples whose values made no sense, or -1 when memory ran out.
static int64_t unpack_all(const struct input *in, const struct values_table *tables, struct rows *rows) {
    const int64_t *ends = in->ends.buf, *stack_ends = in->stack_ends.buf, *sample_stack = in->sample_stack.buf;
    const int32_t *samples = in->samples.buf, *place_table = in->place_table.buf;
    const uint64_t *place_address = in->place_address.buf;
    int64_t damaged = 0;
    rows->place_table = place_table;
    for (size_t i = 0; i < items(&in->samples, 4); i++) {
        int64_t stack = samples[i] < 0 ? -1 : sample_stack[samples[i]];
        if (stack < 0)
            continue;
        int64_t first = stack ? stack_ends[stack - 1] : 0;
        uint32_t depth = (uint32_t)(stack_ends[stack] - first < DEEPEST ? stack_ends[stack] - first : DEEPEST);
        struct values_place frames[DEEPEST];
        rows->current_places = (const int64_t *)in->stack_places.buf + first;
        rows->current_sample = samples[i];
        for (uint32_t k = 0; k < depth; k++) {
            int64_t place = rows->current_places[k];
            frames[k] = (struct values_place){.table = place_table[place] < 0 ? NULL : &tables[place_table[place]],
                                              .address = place_address[place]};
        }
        int64_t start = i ? ends[i - 1] : 0;
        enum values_unpack_result result = values_unpack((const unsigned char *)in->packed.buf + start,
                                                         (size_t)(ends[i] - start), frames, depth, take_row, rows);
        if (result == VALUES_STOPPED)
            return -1;
        damaged += result == VALUES_DAMAGED;
    }
    return damaged;
}

static PyObject *column(const void *bytes, size_t size) {
    return PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
}

static PyObject *unpack_with(const struct input *in, const struct values_table *tables) {
    struct rows rows = {0};
    PyObject *result = NULL;
    int64_t damaged;
    Py_BEGIN_ALLOW_THREADS damaged = unpack_all(in, tables, &rows);
    Py_END_ALLOW_THREADS if (damaged < 0) PyErr_NoMemory();
    else result = Py_BuildValue("{sLsNsNsNsNsNsN}", "damaged", (long long)damaged, "table",
                                column(rows.table, rows.count * sizeof *rows.table), "variable",
                                column(rows.variable, rows.count * sizeof *rows.variable), "sample",
                                column(rows.sample, rows.count * sizeof *rows.sample), "place",
                                column(rows.place, rows.count * sizeof *rows.place), "depth",
                                column(rows.depth, rows.count * sizeof *rows.depth), "value",
                                column(rows.value, rows.count * sizeof *rows.value));
    release_rows(&rows);
    return result;
}

// Opens every table of the list; the buffers are held until they are released.
static PyObject *unpack_from_tables(const struct input *in) {
    Py_ssize_t count = PyList_Size(in->tables), opened = 0;
    struct values_table *tables = calloc((size_t)count + 1, sizeof *tables);
    Py_buffer *buffers = calloc((size_t)count + 1, sizeof *buffers);
    PyObject *result = NULL;
    bool sound = tables && buffers;
    if (!sound)
        PyErr_NoMemory();
    for (; sound && opened < count; opened++) {
        if (PyObject_GetBuffer(PyList_GetItem(in->tables, opened), &buffers[opened], PyBUF_SIMPLE) < 0)
            break;
        if (!values_table_open(buffers[opened].buf, (size_t)buffers[opened].len, &tables[opened])) {
            PyErr_SetString(PyExc_ValueError, "not a variables table");
            opened++;
            break;
        }
    }
    if (!PyErr_Occurred() && !is_consistent(in, (size_t)count))
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit each other");
    if (!PyErr_Occurred())
        result = unpack_with(in, tables);
    for (Py_ssize_t i = 0; buffers && i < opened; i++)
        PyBuffer_Release(&buffers[i]);
    free(buffers);
    free(tables);
    return result;
}

PyObject *session_unpack_values(PyObject *Py_UNUSED(module), PyObject *args) {
    struct input in;
    memset(&in, 0, sizeof in);
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*O!", &in.samples, &in.ends, &in.packed, &in.sample_stack,
                          &in.stack_ends, &in.stack_places, &in.place_table, &in.place_address, &PyList_Type,
                          &in.tables))
        return NULL;
    PyObject *result = unpack_from_tables(&in);
    Py_buffer *buffers[] = {&in.samples,    &in.ends,         &in.packed,      &in.sample_stack,
                            &in.stack_ends, &in.stack_places, &in.place_table, &in.place_address};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        PyBuffer_Release(buffers[i]);
    return result;
}
