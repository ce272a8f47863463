#include "debuginfo/machine.h"

#include <elf.h>

const struct code_machine *code_machine(unsigned elf_machine) {
    return elf_machine == EM_AARCH64 ? &aarch64_code : &x86_64_code;
}
