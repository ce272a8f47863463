// dlopen_storm LIBRARY: loads and unloads a library 1,000 times while another thread works.
#include <dlfcn.h>
#include <pthread.h>

#include "work.h"

static _Atomic int stop;

static void *work(void *nothing) {
    while (!stop) {
        burn(0.001);
    }
    return nothing;
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, work, NULL) == 0);
    int answers = 0, gone = 0;
    for (int i = 0; i < 1000; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        MUST(library);
        int (*answer)(int) = (int (*)(int))dlsym(library, "plugin_answer");
        int *calls = dlsym(library, "plugin_calls");
        MUST(answer && calls && *calls == 0);
        answers += answer(i) >= 2;
        MUST(dlclose(library) == 0);
        gone += dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL;
    }
    stop = 1;
    pthread_join(thread, NULL);
    printf("answers %d gone %d\n", answers, gone);
    return 0;
}
