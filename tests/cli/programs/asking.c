// Asks a script for a version, some times.
#include <stdio.h>

__attribute__((noinline)) static int ask_version(const char *script, char *answer, int size) {
    FILE *pipe = popen(script, "r");
    if (!pipe)
        return 0;
    int found = fgets(answer, size, pipe) != NULL;
    pclose(pipe);
    return found;
}

int main(int argc, char **argv) {
    char answer[64] = "";
    int found = 0;
    for (int turn = 0; turn < 3 && argc > 1; turn++)
        found += ask_version(argv[1], answer, sizeof answer);
    return found != 3;
}
