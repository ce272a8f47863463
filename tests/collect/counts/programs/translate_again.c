// Emulators (qemu-user) keep translations of code that ran once, and do not notice that /proc/self/mem changes it. That
// concerns one place, the dynamic linker's hook for debuggers; everything else is changed before it runs. Preloaded
// with the library under test, and only in an emulator: changing the protection discards translations.
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>

__attribute__((constructor)) static void translate_again(void) {
    void *page = (void *)((uintptr_t)_r_debug.r_brk & ~(uintptr_t)4095);
    mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
}
