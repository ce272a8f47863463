// Coroutines on stacks of 8 and 16 KiB between pages that must never be touched.
#include <sys/mman.h>
#include <ucontext.h>

#include "work.h"

enum { PAGE = 4096, COUNT = 32 };

static ucontext_t scheduler, coroutines[COUNT];
static int turns[COUNT];

static void body(int number) {
    for (int turn = 0; turn < 60; turn++) {
        char local[512];
        for (size_t i = 0; i < sizeof local; i++) {
            local[i] = (char)(i + (size_t)turn);
        }
        burn_steps(100000);
        for (size_t i = 0; i < sizeof local; i++) {
            MUST(local[i] == (char)(i + (size_t)turn));
        }
        turns[number]++;
        swapcontext(&coroutines[number], &scheduler);
    }
}

static char *guarded_stack(size_t size) {
    char *memory = mmap(NULL, size + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED);
    MUST(mprotect(memory, PAGE, PROT_NONE) == 0 && mprotect(memory + PAGE + size, PAGE, PROT_NONE) == 0);
    return memory + PAGE;
}

int main(void) {
    for (int i = 0; i < COUNT; i++) {
        size_t size = i % 2 ? 8192 : 16384;
        MUST(getcontext(&coroutines[i]) == 0);
        coroutines[i].uc_stack.ss_sp = guarded_stack(size);
        coroutines[i].uc_stack.ss_size = size;
        coroutines[i].uc_link = &scheduler;
        makecontext(&coroutines[i], (void (*)(void))body, 1, i);
    }
    for (int round = 0; round < 61; round++) {
        for (int i = 0; i < COUNT; i++) {
            if (turns[i] < 60 || round == 60) {
                swapcontext(&scheduler, &coroutines[i]);
            }
        }
    }
    long sum = 0;
    for (int i = 0; i < COUNT; i++) {
        sum += turns[i];
    }
    printf("turns=%ld\n", sum);
    return 0;
}
