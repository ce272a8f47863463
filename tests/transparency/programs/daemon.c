// daemon FILE: leaves a background process that works on, away from the terminal and its parent.
#include <fcntl.h>
#include <sys/stat.h>

#include "work.h"

int main(int argc, char **argv) {
    MUST(argc == 2);
    burn(0.05);
    if (fork()) {
        printf("parent leaves\n");
        return 4;
    }
    setsid();
    if (fork()) {
        _exit(0);
    }
    MUST(chdir("/") == 0);
    for (int number = 0; number < 1024; number++) {
        close(number);
    }
    burn(0.4);
    int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, "done\n", 5) != 5) {
        _exit(1);
    }
    _exit(0);
}
