// 500 short children side by side, ended in any order, and nobody's children but its own.
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "work.h"

int main(void) {
    int sum = 0, ended = 0;
    for (int i = 0; i < 500; i++) {
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            burn_steps(100000);
            _exit(i % 7);
        }
    }
    int status;
    while (waitpid(-1, &status, 0) > 0) {
        ended++;
        sum += WEXITSTATUS(status);
    }
    printf("%d ended, sum %d, %s\n", ended, sum, errno == ECHILD ? "no others" : "others");
    return 0;
}
