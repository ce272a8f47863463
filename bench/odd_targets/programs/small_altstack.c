// Threads with the smallest alternate stack there may be, beside a page that must not be touched.
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "work.h"

static __thread volatile int handled;

static void handle(int number) {
    (void)number;
    handled++;
}

static void *live(void *nothing) {
    long least = (long)getauxval(AT_MINSIGSTKSZ), page = sysconf(_SC_PAGESIZE);
    least = least < MINSIGSTKSZ ? MINSIGSTKSZ : least;
    long room = (least + page - 1) / page * page;
    char *memory = mmap(NULL, (size_t)(room + page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED && mprotect(memory + page, (size_t)room, PROT_READ | PROT_WRITE) == 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = (size_t)room}, told;
    MUST(sigaltstack(&stack, NULL) == 0);
    for (int i = 0; i < 200; i++) {
        pthread_kill(pthread_self(), SIGUSR1);
        burn(0.0005);
    }
    MUST(sigaltstack(NULL, &told) == 0 && told.ss_sp == stack.ss_sp);
    MUST(handled == 200);
    return nothing;
}

int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        MUST(pthread_create(&threads[i], NULL, live, NULL) == 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("handled\n");
    return 0;
}
