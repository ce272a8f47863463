// Children by clone() with its own stack: shared memory, shared descriptors, no signal at the end, another signal.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "work.h"

enum { STACK = 256 * 1024 };
static volatile int shared, signals;

static int body(void *argument) {
    burn_steps(20000000);
    shared += *(int *)argument;
    return 4;
}

static void count(int number) {
    (void)number;
    signals++;
}

int main(void) {
    signal(SIGUSR1, count);
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    MUST(stack != MAP_FAILED);
    int flags[] = {SIGCHLD, CLONE_VM | SIGCHLD, CLONE_VM | CLONE_VFORK | SIGCHLD, CLONE_FILES | CLONE_FS,
                   CLONE_VM | CLONE_FILES | SIGUSR1};
    for (int i = 0; i < 5; i++) {
        burn(0.02);
        int amount = 1 << i, status = 0;
        pid_t child = clone(body, stack + STACK, flags[i], &amount);
        MUST(child > 0);
        while (waitpid(child, &status, __WALL) != child) {
        }
        printf("%d: %d shared %d\n", i, WEXITSTATUS(status), shared);
    }
    printf("signals %d\n", signals);
    return 0;
}
