// Closes every descriptor above 2 in one call, works on, and starts a program with all of them marked close-on-exec.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>

#include "work.h"

int main(void) {
    burn(0.05);
    MUST(syscall(SYS_close_range, 3u, ~0u, 0u) == 0);
    burn(0.1);
    int lowest = open("/dev/null", O_RDONLY);
    printf("lowest %d, open %d\n", lowest, open_descriptors());
    fflush(stdout);
    MUST(syscall(SYS_close_range, 3u, ~0u, (unsigned)CLOSE_RANGE_CLOEXEC) == 0);
    burn(0.05);
    char *const words[] = {"ls", "/proc/self/fd", NULL};
    execv("/bin/ls", words);
    return 98;
}
