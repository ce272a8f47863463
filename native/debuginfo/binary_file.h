// Opening one binary with what belongs to it.
#ifndef WHYPERF_DEBUGINFO_BINARY_FILE_H
#define WHYPERF_DEBUGINFO_BINARY_FILE_H

#include "debuginfo/extract.h"
#include "debuginfo/reader.h"

struct binary_file {
    Dwfl_Module *module;
    Elf *elf;
    unsigned elf_machine;
};

// Starts the reader too: it then knows which addresses are code. False for what is no program or library.
bool open_binary(const struct extract_request *request, struct reader *reader, struct binary_file *binary);

#endif
