// Programs that block every signal, wait for any signal, or read signals from a descriptor must meet none of ours.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "work.h"

static void *burn_in_thread(void *nothing) {
    burn(0.3);
    return nothing;
}

static int pending_signals(void) {
    sigset_t pending;
    MUST(sigpending(&pending) == 0);
    int count = 0;
    for (int number = 1; number < NSIG; number++) {
        count += sigismember(&pending, number) == 1;
    }
    return count;
}

int main(void) {
    sigset_t all, before;
    sigfillset(&all);
    MUST(sigprocmask(SIG_SETMASK, &all, &before) == 0);
    for (int number = 1; number < NSIG; number++) {
        MUST(sigismember(&before, number) == 0 || number == 32 || number == 33);
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        MUST(pthread_create(&threads[i], NULL, burn_in_thread, NULL) == 0);
    }
    burn(0.3);
    printf("pending=%d\n", pending_signals());
    struct timespec soon = {0, 20 * 1000 * 1000};
    for (int i = 0; i < 10; i++) {
        burn(0.02);
        MUST(sigtimedwait(&all, NULL, &soon) == -1 && errno == EAGAIN);
    }
    kill(getpid(), SIGUSR1);
    int number;
    MUST(sigwait(&all, &number) == 0);
    printf("sigwait=%s\n", number == SIGUSR1 ? "SIGUSR1" : "another");
    int descriptor = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    MUST(descriptor >= 0);
    burn(0.1);
    struct signalfd_siginfo info;
    printf("signalfd empty=%s\n", read(descriptor, &info, sizeof info) < 0 && errno == EAGAIN ? "yes" : "no");
    kill(getpid(), SIGTERM);
    struct pollfd wait = {descriptor, POLLIN, 0};
    MUST(poll(&wait, 1, 1000) == 1 && read(descriptor, &info, sizeof info) == sizeof info);
    printf("signalfd=%d\n", (int)info.ssi_signo);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    sigset_t now;
    MUST(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
    int blocked = 0;
    for (int i = 1; i < NSIG; i++) {
        blocked += sigismember(&now, i) == 1;
    }
    printf("blocked=%d\n", blocked);
    return 0;
}
