#include "session/bindings.h"
#include "session/decode.h"

#include <string.h>

struct decoder_object {
    PyObject_HEAD struct decoder decoder;
};

static struct decoder *decoder_of(PyObject *self) {
    return &((struct decoder_object *)self)->decoder;
}

static PyObject *decoder_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "", names))
        return NULL;
    PyObject *self = PyType_GenericAlloc(type, 0);
    if (self)
        decoder_init(decoder_of(self));
    return self;
}

static void decoder_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    decoder_release(decoder_of(self));
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *new_file(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    decoder_new_file(decoder_of(self));
    Py_RETURN_NONE;
}

static bool append_other(void *list, const struct whyperf_record *record) {
    PyObject *other =
        Py_BuildValue("(iIKy#)", (int)record->kind, record->detail, (unsigned long long)record->time,
                      (const char *)record_payload(record), (Py_ssize_t)(record_bytes(record) - sizeof *record));
    bool appended = other && PyList_Append(list, other) == 0;
    Py_XDECREF(other);
    return appended;
}

static PyObject *add(PyObject *self, PyObject *args) {
    int owner;
    Py_buffer records;
    if (!PyArg_ParseTuple(args, "iy*", &owner, &records))
        return NULL;
    // Damage in a file can leave what follows at an odd address.
    void *aligned = NULL;
    if ((uintptr_t)records.buf % 8) {
        aligned = PyMem_Malloc((size_t)records.len);
        if (aligned)
            memcpy(aligned, records.buf, (size_t)records.len);
    }
    PyObject *others = PyList_New(0);
    bool usable = others && ((uintptr_t)records.buf % 8 == 0 || aligned);
    if (!usable || !decoder_add(decoder_of(self), owner, aligned ? aligned : records.buf, (size_t)records.len,
                                append_other, others)) {
        Py_CLEAR(others);
        if (!PyErr_Occurred())
            PyErr_NoMemory();
    }
    PyMem_Free(aligned);
    PyBuffer_Release(&records);
    return others;
}

static PyObject *column(const struct column *column) {
    return PyBytes_FromStringAndSize((const char *)column->bytes, (Py_ssize_t)column->size);
}

static PyObject *columns(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    const struct decoder *decoder = decoder_of(self);
    const struct intern *stacks = &decoder->stacks;
    return Py_BuildValue("{sNsNsNsNsNsNsNsNsNsNsNsNsNsN}", "memory_sample", column(&decoder->memory_sample), "memory",
                         column(&decoder->memory), "values_sample", column(&decoder->values_sample), "values_ends",
                         column(&decoder->values_ends), "values", column(&decoder->values), "time",
                         column(&decoder->time), "owner", column(&decoder->owner), "stack", column(&decoder->stack),
                         "weight", column(&decoder->weight), "cut", column(&decoder->cut), "clock",
                         column(&decoder->clock), "wait", column(&decoder->wait), "stack_ends",
                         column(&decoder->stack_ends), "pcs",
                         PyBytes_FromStringAndSize((const char *)stacks->words,
                                                   (Py_ssize_t)(stacks->word_count * sizeof *stacks->words)));
}

static PyObject *get_damaged_bytes(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLongLong(decoder_of(self)->damaged_bytes);
}

static PyObject *get_stacks_missing(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLongLong(decoder_of(self)->stacks_missing);
}

static PyMethodDef methods[] = {
    {"new_file", new_file, METH_NOARGS, "Stack ids begin anew."},
    {"add", add, METH_VARARGS, "Decode the records of one chunk; returns those that are neither stack nor sample."},
    {"columns", columns, METH_NOARGS, "The samples and stacks decoded so far, as the bytes of arrays."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"damaged_bytes", get_damaged_bytes, NULL, "Bytes passed over because they made no sense.", NULL},
    {"stacks_missing", get_stacks_missing, NULL, "Samples whose stack was lost.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot decoder_slots[] = {
    {Py_tp_new, decoder_new},
    {Py_tp_dealloc, decoder_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, "Turns the raw log's ring records into columns."},
    {0, NULL},
};

PyType_Spec decoder_spec = {
    .name = "whyperf.collect._session.Decoder",
    .basicsize = sizeof(struct decoder_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = decoder_slots,
};
