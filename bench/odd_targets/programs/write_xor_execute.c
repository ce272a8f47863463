// Asks the kernel to refuse memory that becomes executable (PR_SET_MDWE), then loads a library and starts children.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "work.h"

int main(void) {
    burn(0.05);
    if (prctl(65, 1, 0, 0, 0) != 0) {
        printf("the kernel has none\n");
        return 0;
    }
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("refused %d\n", mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0);
    void *library = dlopen("libm.so.6", RTLD_NOW);
    printf("loaded %d\n", library != NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        burn(0.1);
        execl("/bin/sh", "sh", "-c", "echo child; exit 3", NULL);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child);
    burn(0.1);
    printf("child %d\n", WEXITSTATUS(status));
    return 0;
}
