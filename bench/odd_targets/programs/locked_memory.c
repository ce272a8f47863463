// Locks all of its memory, now and later, and makes a page of its own code writable and back.
#include <stdint.h>
#include <sys/mman.h>

#include "work.h"

static int __attribute__((noinline, aligned(4096))) answer(int number) {
    return number * 3;
}

int main(void) {
    burn(0.05);
    printf("locked %d\n", mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    long page = sysconf(_SC_PAGESIZE);
    void *code = (void *)((uintptr_t)answer & ~(uintptr_t)(page - 1));
    MUST(mprotect(code, (size_t)page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    burn(0.05);
    MUST(mprotect(code, (size_t)page, PROT_READ | PROT_EXEC) == 0);
    char *block = malloc(1 << 20);
    MUST(block);
    block[0] = 1;
    munlockall();
    burn(0.05);
    printf("%d\n", answer(14));
    return 0;
}
