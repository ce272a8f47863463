// A library that a user preloads: it changes what one function answers.
#include <sys/types.h>

pid_t getppid(void) {
    return 4242;
}
