// `whyperf.importers._perf_data`: what of reading perf.data is done for every sample.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "perf_data/copied.h"
#include "perf_data/records.h"
#include "stacks/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

typedef struct {
    PyObject_HEAD;
    Py_buffer layouts, ids, events;
    struct sample_events known;
    struct perf_stacks stacks;
    struct table_store tables;
    const struct module_table **modules;
    size_t module_count;
    struct copied_spaces spaces;
} Decoder;

static PyObject *bytes_of(const void *at, size_t size) {
    return PyBytes_FromStringAndSize(size ? at : "", (Py_ssize_t)size);
}

static PyObject *py_find_records(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer data;
    Py_ssize_t start, end;
    struct found_records found;
    if (!PyArg_ParseTuple(args, "y*nn", &data, &start, &end))
        return NULL;
    PyObject *result = NULL;
    if (start < 0 || end < start || end > data.len) {
        PyErr_SetString(PyExc_ValueError, "the records must lie within the data");
        PyBuffer_Release(&data);
        return NULL;
    }
    bool done;
    Py_BEGIN_ALLOW_THREADS;
    done = find_records(data.buf, (size_t)start, (size_t)end, &found);
    Py_END_ALLOW_THREADS;
    if (done)
        result = Py_BuildValue("(NNn)", bytes_of(found.samples.at, found.samples.count * sizeof(uint64_t)),
                               bytes_of(found.others.at, found.others.count * sizeof(uint64_t)), (Py_ssize_t)found.end);
    else
        PyErr_NoMemory();
    free(found.samples.at);
    free(found.others.at);
    PyBuffer_Release(&data);
    return result;
}

static bool sound_events(const Decoder *self) {
    if (self->layouts.len % (Py_ssize_t)sizeof(struct sample_layout) || self->ids.len % 8 || self->events.len % 4 ||
        self->ids.len / 8 != self->events.len / 4)
        return false;
    for (size_t i = 0; i < self->known.id_count; i++)
        if (self->known.events[i] >= self->known.layout_count)
            return false;
    return self->known.layout_count > 0;
}

static void decoder_dealloc(Decoder *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyBuffer_Release(&self->layouts);
    PyBuffer_Release(&self->ids);
    PyBuffer_Release(&self->events);
    perf_stacks_release(&self->stacks);
    copied_spaces_release(&self->spaces);
    table_store_clear(&self->tables);
    free(self->tables.folder);
    free(self->modules);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *decoder_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords)) {
    Decoder *self = (Decoder *)PyType_GenericAlloc(type, 0);
    PyObject *folder = NULL;
    if (!self)
        return NULL;
    perf_stacks_init(&self->stacks);
    if (!PyArg_ParseTuple(args, "y*y*y*O&", &self->layouts, &self->ids, &self->events, PyUnicode_FSConverter,
                          &folder)) {
        Py_DECREF(self);
        return NULL;
    }
    self->known = (struct sample_events){
        .layouts = self->layouts.buf,
        .layout_count = (uint32_t)((size_t)self->layouts.len / sizeof(struct sample_layout)),
        .ids = self->ids.buf,
        .events = self->events.buf,
        .id_count = (size_t)self->ids.len / sizeof(uint64_t),
    };
    self->tables.folder = strdup(PyBytes_AsString(folder));
    Py_DECREF(folder);
    if (!self->tables.folder)
        PyErr_NoMemory();
    else if (!sound_events(self))
        PyErr_SetString(PyExc_ValueError, "layouts, ids and events do not fit together");
    if (PyErr_Occurred()) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

struct decoding {
    size_t decoded, foreign, damaged;
    bool no_memory;
};

static void decode_all(Decoder *self, const Py_buffer *data, const uint64_t *offsets, size_t count,
                       struct perf_sample *samples, struct decoding *done) {
    for (size_t i = 0; i < count && !done->no_memory; i++)
        switch (decode_sample(data->buf, offsets[i], &self->known, &self->stacks, &samples[done->decoded])) {
        case DECODED:
            done->decoded++;
            break;
        case DECODED_FOREIGN:
            done->foreign++;
            break;
        case DECODED_DAMAGED:
            done->damaged++;
            break;
        case DECODED_NO_MEMORY:
            done->no_memory = true;
        }
}

static bool within(const Py_buffer *data, const uint64_t *offsets, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct perf_header header;
        if (offsets[i] > (uint64_t)data->len || (uint64_t)data->len - offsets[i] < sizeof header)
            return false;
        memcpy(&header, (const uint8_t *)data->buf + offsets[i], sizeof header);
        if (header.size < sizeof header || (uint64_t)data->len - offsets[i] < header.size)
            return false;
    }
    return true;
}

static PyObject *decoder_decode(Decoder *self, PyObject *args) {
    Py_buffer data, offsets;
    if (!PyArg_ParseTuple(args, "y*y*", &data, &offsets))
        return NULL;
    size_t count = (size_t)offsets.len / sizeof(uint64_t);
    struct decoding done = {0};
    PyObject *result = NULL, *samples = NULL;
    if (!within(&data, offsets.buf, count))
        PyErr_SetString(PyExc_ValueError, "the records must lie within the data");
    else
        samples = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(struct perf_sample)));
    if (samples) {
        struct perf_sample *decoded = (struct perf_sample *)PyByteArray_AsString(samples);
        Py_BEGIN_ALLOW_THREADS;
        decode_all(self, &data, offsets.buf, count, decoded, &done);
        Py_END_ALLOW_THREADS;
        if (done.no_memory)
            PyErr_NoMemory();
        else if (PyByteArray_Resize(samples, (Py_ssize_t)(done.decoded * sizeof(struct perf_sample))) == 0)
            result = Py_BuildValue("(Onn)", samples, (Py_ssize_t)done.foreign, (Py_ssize_t)done.damaged);
        Py_DECREF(samples);
    }
    PyBuffer_Release(&data);
    PyBuffer_Release(&offsets);
    return result;
}

// The vDSO is no file; the running kernel's own stands for it. An unwind_image_read_fn.
static bool read_own(void *Py_UNUSED(context), uint64_t address, void *bytes, size_t size) {
    memcpy(bytes, (const void *)(uintptr_t)address, size);
    return true;
}

static const struct module_table *vdso_table(struct table_store *store) {
    struct unwind_image image;
    unsigned long start = getauxval(AT_SYSINFO_EHDR);
    errno = ENOEXEC;
    return start && unwind_image_find(read_own, NULL, start, NULL, &image)
               ? table_store_get(store, read_own, NULL, &image)
               : NULL;
}

static PyObject *decoder_add_module(Decoder *self, PyObject *argument) {
    PyObject *path;
    if (!PyUnicode_FSConverter(argument, &path))
        return NULL;
    const char *name = PyBytes_AsString(path);
    const struct module_table *table;
    Py_BEGIN_ALLOW_THREADS;
    table = strcmp(name, "[vdso]") == 0 ? vdso_table(&self->tables) : elf_file_table(&self->tables, name);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (!table)
        return PyErr_SetFromErrno(PyExc_OSError);
    const struct module_table **larger = realloc(self->modules, (self->module_count + 1) * sizeof *larger);
    if (!larger)
        return PyErr_NoMemory();
    self->modules = larger;
    self->modules[self->module_count] = table;
    return PyLong_FromSize_t(self->module_count++);
}

static bool fill_space(const Decoder *self, PyObject *mappings, struct unwind_modules *space) {
    for (uint32_t i = 0; i < space->count; i++) {
        unsigned long long start, end, bias;
        Py_ssize_t module;
        if (!PyArg_ParseTuple(PyList_GetItem(mappings, i), "KKKn", &start, &end, &bias, &module))
            return false;
        if (module < 0 || (size_t)module >= self->module_count) {
            PyErr_SetString(PyExc_ValueError, "there is no module of that number");
            return false;
        }
        space->modules[i] = (struct unwind_module){start, end, bias, self->modules[module]->rows};
    }
    return true;
}

static PyObject *decoder_add_space(Decoder *self, PyObject *mappings) {
    if (!PyList_Check(mappings)) {
        PyErr_SetString(PyExc_TypeError, "mappings come as a list");
        return NULL;
    }
    size_t count = (size_t)PyList_Size(mappings);
    struct unwind_modules *space = malloc(sizeof *space + count * sizeof *space->modules);
    if (!space)
        return PyErr_NoMemory();
    space->count = (uint32_t)count;
    if (!fill_space(self, mappings, space)) {
        free(space);
        return NULL;
    }
    if (!copied_spaces_add(&self->spaces, space)) {
        free(space);
        return PyErr_NoMemory();
    }
    return PyLong_FromSize_t(self->spaces.count - 1);
}

static bool unwind_all(Decoder *self, const Py_buffer *data, struct perf_sample *samples, const int32_t *space,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct perf_sample *sample = &samples[i];
        if (space[i] < 0 || (size_t)space[i] >= self->spaces.count || sample->event >= self->known.layout_count)
            continue;
        uint64_t mask = self->known.layouts[sample->event].user_registers;
        uint64_t registers = 8 * (uint64_t)__builtin_popcountll(mask), size = (uint64_t)data->len;
        if (sample->registers > size || size - sample->registers < registers || sample->memory > size ||
            size - sample->memory < sample->memory_size)
            continue;
        if (!unwind_copied(data->buf, mask, self->spaces.spaces[space[i]], &self->stacks, sample))
            return false;
    }
    return true;
}

static PyObject *decoder_unwind(Decoder *self, PyObject *args) {
    Py_buffer data, samples, spaces;
    if (!PyArg_ParseTuple(args, "y*w*y*", &data, &samples, &spaces))
        return NULL;
    size_t count = (size_t)samples.len / sizeof(struct perf_sample);
    bool done = false;
    if (samples.len % (Py_ssize_t)sizeof(struct perf_sample) || (size_t)spaces.len != count * sizeof(int32_t)) {
        PyErr_SetString(PyExc_ValueError, "every sample must have a space");
    } else {
        Py_BEGIN_ALLOW_THREADS;
        done = unwind_all(self, &data, samples.buf, spaces.buf, count);
        Py_END_ALLOW_THREADS;
        if (!done)
            PyErr_NoMemory();
    }
    PyBuffer_Release(&data);
    PyBuffer_Release(&samples);
    PyBuffer_Release(&spaces);
    if (!done)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *decoder_stacks(Decoder *self, PyObject *Py_UNUSED(none)) {
    return Py_BuildValue("(NN)", bytes_of(self->stacks.seen.words, self->stacks.seen.word_count * sizeof(uint64_t)),
                         bytes_of(self->stacks.ends, self->stacks.count * sizeof(int64_t)));
}

struct wanted_field {
    unsigned int offset, size;
    int is_signed;
};

static int64_t field_value(const uint8_t *bytes, const struct wanted_field *field) {
    uint64_t value = 0;
    memcpy(&value, bytes + field->offset, field->size);
    unsigned unused = 64 - 8 * field->size;
    return field->is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static void read_fields(const Py_buffer *data, const Py_buffer *samples, const Py_buffer *rows,
                        const struct wanted_field *field, int64_t *values) {
    size_t count = (size_t)rows->len / sizeof(int64_t), known = (size_t)samples->len / sizeof(struct perf_sample);
    for (size_t i = 0; i < count; i++) {
        uint64_t row = ((const uint64_t *)rows->buf)[i];
        values[i] = 0;
        if (row >= known)
            continue;
        const struct perf_sample *sample = (const struct perf_sample *)samples->buf + row;
        if (sample->raw_size >= (uint64_t)field->offset + field->size && sample->raw <= (uint64_t)data->len &&
            (uint64_t)data->len - sample->raw >= sample->raw_size)
            values[i] = field_value((const uint8_t *)data->buf + sample->raw, field);
    }
}

static PyObject *fields(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer data, samples, rows;
    struct wanted_field field;
    if (!PyArg_ParseTuple(args, "y*y*y*IIp", &data, &samples, &rows, &field.offset, &field.size, &field.is_signed))
        return NULL;
    PyObject *values = NULL;
    if (field.size == 0 || field.size > 8)
        PyErr_SetString(PyExc_ValueError, "a field has one to eight bytes");
    else
        values = PyBytes_FromStringAndSize(NULL, rows.len / 8 * 8);
    if (values) {
        int64_t *read = (int64_t *)PyBytes_AsString(values);
        Py_BEGIN_ALLOW_THREADS;
        read_fields(&data, &samples, &rows, &field, read);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&data);
    PyBuffer_Release(&samples);
    PyBuffer_Release(&rows);
    return values;
}

static PyMethodDef decoder_methods[] = {
    {"decode", (PyCFunction)decoder_decode, METH_VARARGS, NULL},
    {"add_module", (PyCFunction)decoder_add_module, METH_O, NULL},
    {"add_space", (PyCFunction)decoder_add_space, METH_O, NULL},
    {"unwind", (PyCFunction)decoder_unwind, METH_VARARGS, NULL},
    {"stacks", (PyCFunction)decoder_stacks, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot decoder_slots[] = {
    {Py_tp_new, decoder_new},
    {Py_tp_dealloc, decoder_dealloc},
    {Py_tp_methods, decoder_methods},
    {0},
};

static PyType_Spec decoder_spec = {
    .name = "whyperf.importers._perf_data.Decoder",
    .basicsize = sizeof(Decoder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = decoder_slots,
};

static int execute(PyObject *module) {
    PyObject *decoder = PyType_FromModuleAndSpec(module, &decoder_spec, NULL);
    if (!decoder)
        return -1;
    int failed = PyModule_AddType(module, (PyTypeObject *)decoder);
    Py_DECREF(decoder);
    return failed;
}

static PyMethodDef functions[] = {
    {"find_records", py_find_records, METH_VARARGS, NULL},
    {"fields", fields, METH_VARARGS, NULL},
    {0},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_perf_data",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__perf_data(void) {
    return PyModuleDef_Init(&definition);
}
