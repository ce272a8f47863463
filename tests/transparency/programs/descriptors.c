// Closes every descriptor, then lives on: threads, children, new files, whose numbers must be the lowest free ones.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "work.h"

static void *burn_in_thread(void *nothing) {
    burn(0.1);
    return nothing;
}

static void live(void) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, burn_in_thread, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        burn(0.1);
        _exit(open("/dev/null", O_RDONLY));
    }
    int status;
    MUST(waitpid(child, &status, 0) == child);
    burn(0.1);
    pthread_join(thread, NULL);
    printf("child's next=%d own next=%d\n", WEXITSTATUS(status), open("/dev/null", O_RDONLY));
}

int main(void) {
    printf("open at the start=%d\n", open_descriptors());
    int first = open("/dev/null", O_RDONLY);
    printf("first=%d\n", first);
    for (int number = 3; number < 4096; number++) {
        close(number);
    }
    live();
    struct rlimit few = {8, 8};
    MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
    live();
    int count = 0;
    while (open("/dev/null", O_RDONLY) >= 0) {
        count++;
    }
    printf("until the limit=%d %s\n", count, errno == EMFILE ? "EMFILE" : "another error");
    live();
    return 0;
}
