// Unwind tables as the programs read them: distinct rules once, rows of eight bytes with an index by address.
#ifndef WHYPERF_TRACER_ROWS_H
#define WHYPERF_TRACER_ROWS_H

#include "tracer/tracer.h"

// Makes room for the first tables, which takes the kernel some milliseconds.
bool prepare_rows(struct tracer *tracer);
// The table in the programs' memory; NULL without room.
const struct installed_table *install_table(struct tracer *tracer, const struct module_table *table);

#endif
