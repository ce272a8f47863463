#include "stacks/module_tuple.h"

#include <stdio.h>

PyObject *module_tuple(const struct mapped_module *module) {
    char build_id[2 * UNWIND_BUILD_ID_MAX + 1] = "";
    for (uint32_t i = 0; i < module->image.build_id_size; i++)
        snprintf(build_id + 2 * i, 3, "%02x", module->image.build_id[i]);
    PyObject *path = PyUnicode_DecodeFSDefault(module->path);
    if (!path)
        return NULL;
    return Py_BuildValue("KKKKsNK", module->start, module->end, module->file_offset, module->image.code_bias, build_id,
                         path, module->inode);
}

PyObject *module_tuples(const struct process *process) {
    uint32_t count = process->unwind ? process->unwind->count : 0;
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list && i < count; i++) {
        PyObject *module = module_tuple(&process->modules[i]);
        if (!module)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, module);
    }
    return list;
}
