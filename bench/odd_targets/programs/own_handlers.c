// Takes every signal that can be handled, SIGPROF and all real-time ones among them, raises each, and gives it back.
#include <signal.h>

#include "work.h"

static volatile int counts[128];

static void count(int number, siginfo_t *info, void *context) {
    (void)info, (void)context;
    counts[number]++;
}

int main(void) {
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART}, told;
        if (sigaction(number, &action, &told) == 0 && told.sa_handler != SIG_DFL && told.sa_handler != SIG_IGN) {
            printf("signal %d was taken\n", number);
        }
    }
    burn(0.2);
    for (int round = 0; round < 50; round++) {
        for (int number = 1; number <= SIGRTMAX; number++) {
            if (number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN)) {
                raise(number);
            }
        }
        burn(0.002);
    }
    for (int number = 1; number <= SIGRTMAX; number++) {
        printf("%d ", counts[number]);
        signal(number, SIG_DFL);
    }
    printf("\n");
    burn(0.1);
    return 0;
}
