// Unwind tables of the modules in this process: from the folder of tables, or made here.
#ifndef WHYPERF_TABLES_H
#define WHYPERF_TABLES_H

#include "unwind/image.h"
#include "unwind/unwind.h"
#include "values/open.h"

// Fills `table`; leaves it empty when the module has no unwind information.
void tables_find_in_signal(const struct unwind_image *image, unwind_image_read_fn read, struct unwind_table *table);

// The module's variables table; NULL while there is none.
const struct values_table *tables_find_variables_in_signal(const struct unwind_image *image);

#endif
