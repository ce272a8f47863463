// host PLUG-IN TIMES: calls a function of a library that it loads itself.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        return 2;
    }
    long (*search)(long) = (long (*)(long))dlsym(library, "search");
    long found = 0;
    for (int i = 0; i < 50; i++) {
        found += search(atol(argv[2]));
    }
    printf("%ld\n", found);
    return 0;
}
