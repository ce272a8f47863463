// dlmopen LIBRARY: the same library, and a C library of its own, in eight name spaces.
#include <dlfcn.h>

#include "work.h"

int main(int argc, char **argv) {
    MUST(argc == 2);
    void *libraries[8];
    for (int i = 0; i < 8; i++) {
        libraries[i] = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
        if (!libraries[i]) {
            printf("%s\n", dlerror());
            return 3;
        }
        int (*answer)(int) = (int (*)(int))dlsym(libraries[i], "plugin_answer");
        for (int turn = 0; turn <= i; turn++) {
            answer(turn);
        }
        burn(0.02);
    }
    for (int i = 0; i < 8; i++) {
        printf("%d ", *(int *)dlsym(libraries[i], "plugin_calls"));
        dlclose(libraries[i]);
    }
    printf("\n");
    return 0;
}
