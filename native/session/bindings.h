// The Python types of `whyperf.collect._session`.
#ifndef WHYPERF_SESSION_BINDINGS_H
#define WHYPERF_SESSION_BINDINGS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec drainer_spec, decoder_spec;

PyObject *session_number_distinct(PyObject *module, PyObject *keys);
PyObject *session_unpack_values(PyObject *module, PyObject *args);
PyObject *session_values_at(PyObject *module, PyObject *args);

#endif
