#ifndef WHYPERF_TRACER_TYPE_H
#define WHYPERF_TRACER_TYPE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tracer/tracer.h"

extern PyType_Spec tracer_spec;

#endif
