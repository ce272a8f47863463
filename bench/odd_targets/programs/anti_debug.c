// Refuses to run when somebody traces it, then lets nobody else do so.
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "work.h"

int main(void) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    while (fgets(line, sizeof line, status)) {
        if (strncmp(line, "TracerPid", 9) == 0 || strncmp(line, "NoNewPrivs", 10) == 0 ||
            strncmp(line, "Seccomp:", 8) == 0) {
            fputs(line, stdout);
        }
    }
    fclose(status);
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        _exit(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0 && waitpid(getppid(), NULL, 0) == getppid() &&
                      ptrace(PTRACE_DETACH, getppid(), NULL, NULL) == 0
                  ? 1
                  : 2);
    }
    int ended;
    while (waitpid(child, &ended, 0) != child) {
    }
    burn(0.1);
    printf("attach %d\n", WEXITSTATUS(ended));
    MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    return 0;
}
