// Children that stop and continue by job control; their parent sees each stop, once.
#include <signal.h>
#include <sys/wait.h>

#include "work.h"

int main(void) {
    int stops = 0, continues = 0;
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) {
            burn(0.01);
            raise(SIGSTOP);
            burn(0.01);
            raise(SIGTSTP);
            _exit(3);
        }
        int status;
        while (waitpid(child, &status, WUNTRACED | WCONTINUED) == child && !WIFEXITED(status)) {
            if (WIFSTOPPED(status)) {
                stops++;
                kill(child, SIGCONT);
            } else if (WIFCONTINUED(status)) {
                continues++;
            }
        }
        MUST(WEXITSTATUS(status) == 3);
    }
    printf("stops %d continues %d\n", stops, continues > 0);
    return 0;
}
