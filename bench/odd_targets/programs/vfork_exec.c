// 100 children by vfork, which share the parent's memory until they execute a program.
#include <sys/wait.h>

#include "work.h"

int main(void) {
    int sum = 0;
    for (int i = 0; i < 100; i++) {
        volatile int told = 0;
        pid_t child = vfork();
        if (child == 0) {
            told = 1;
            if (i % 10 == 9) {
                _exit(5);
            }
            execl("/bin/sh", "sh", "-c", "exit 3", NULL);
            _exit(98);
        }
        int status;
        MUST(child > 0 && waitpid(child, &status, 0) == child && told == 1);
        sum += WEXITSTATUS(status);
        burn(0.001);
    }
    printf("%d\n", sum);
    return 0;
}
