// Closes what /proc/self/fd lists, then everything up to the limit, between forks.
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "work.h"

int main(void) {
    struct rlimit limit = {4096, 4096};
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int round = 0; round < 20; round++) {
        closefrom(3);
        for (int number = 3; number < 4096; number++) {
            close(number);
        }
        pid_t child = fork();
        if (child == 0) {
            closefrom(3);
            burn(0.01);
            _exit(open_descriptors());
        }
        int status;
        MUST(waitpid(child, &status, 0) == child);
        printf("%d ", WEXITSTATUS(status));
    }
    printf("\n");
    return 0;
}
