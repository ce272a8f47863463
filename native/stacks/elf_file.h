// Rows of an ELF file that no process has mapped.
#ifndef WHYPERF_ELF_FILE_H
#define WHYPERF_ELF_FILE_H

#include "stacks/tables.h"

// Fills `rows`, whose memory the caller frees. 0 or an errno; ENOEXEC when it is no ELF file of this machine.
int compile_elf_file(const char *path, struct row_buffer *rows);

// The same by way of a store, which keeps it. NULL with errno.
const struct module_table *elf_file_table(struct table_store *store, const char *path);

#endif
