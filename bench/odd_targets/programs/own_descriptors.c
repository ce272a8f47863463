// Lists its own descriptors before and after work, threads and a child; the lowest free number is what it gets.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#include "work.h"

static void *work(void *nothing) {
    burn(0.05);
    return nothing;
}

static void list(void) {
    char seen[4096] = {0};
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        int number = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && number != dirfd(folder) && number < (int)sizeof seen) {
            seen[number] = 1;
        } else if (number >= (int)sizeof seen) {
            printf("very high ");
        }
    }
    closedir(folder);
    for (int number = 0; number < (int)sizeof seen; number++) {
        if (seen[number]) {
            printf("%d ", number);
        }
    }
    printf("lowest %d\n", dup(1));
}

int main(void) {
    list();
    burn(0.1);
    list();
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, work, NULL) == 0);
    pthread_join(thread, NULL);
    list();
    fflush(stdout);
    if (fork() == 0) {
        burn(0.02);
        list();
        return 0;
    }
    wait(NULL);
    return 0;
}
