// storm SIGNALS: signals from itself, from a thread and from timers; every one that must arrive is counted.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "work.h"

static volatile sig_atomic_t own, alarms, profiles, queued;

static void count(int number, siginfo_t *info, void *context) {
    (void)context;
    if (number == SIGUSR1) {
        own++;
    } else if (number == SIGALRM) {
        alarms++;
    } else if (number == SIGPROF) {
        profiles++;
    } else if (info->si_code == SI_QUEUE) {
        queued += info->si_value.sival_int;
    }
}

static void *queue_signals(void *target) {
    for (int i = 0; i < 1000; i++) {
        union sigval one = {.sival_int = 1};
        while (pthread_sigqueue(*(pthread_t *)target, SIGRTMIN + 3, one) != 0) {
            usleep(100);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    long signals = atol(argv[1]);
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART}, told;
    sigemptyset(&action.sa_mask);
    int handled[] = {SIGUSR1, SIGALRM, SIGPROF, SIGRTMIN + 3};
    for (int i = 0; i < 4; i++) {
        MUST(sigaction(handled[i], &action, &told) == 0);
        MUST(told.sa_handler == SIG_DFL);
        MUST(sigaction(handled[i], NULL, &told) == 0);
        MUST(told.sa_sigaction == count);
    }
    pthread_t thread, self = pthread_self();
    MUST(pthread_create(&thread, NULL, queue_signals, &self) == 0);
    struct itimerval often = {{0, 1000}, {0, 1000}}, half = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}}, was;
    MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
    MUST(setitimer(ITIMER_PROF, &half, &was) == 0);
    MUST(was.it_interval.tv_sec == 0 && was.it_interval.tv_usec == 0);
    for (long i = 0; i < signals; i++) {
        kill(getpid(), SIGUSR1);
        if (i % 16 == 0) {
            burn_steps(1000);
        }
    }
    burn(0.5);
    for (int i = 0; i < 40 && profiles < 15; i++) { // ticks of a busy machine come late, and several at once
        burn(0.1);
    }
    MUST(setitimer(ITIMER_PROF, &never, &was) == 0);
    MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
    MUST(was.it_interval.tv_usec == 20000);
    pthread_join(thread, NULL);
    int profiled = profiles;
    raise(SIGPROF);
    MUST(profiles == profiled + 1);
    // Half a second of CPU and more at 50 Hz: the program's own profiling timer must tick, and no faster than it asked
    // for.
    printf("alarms=%s profiles=%s queued=%d\n", alarms > 10 ? "yes" : "no",
           profiled >= 15 && profiled < 400 ? "yes" : "no", queued);
    // A standard signal may merge while blocked by a handler, here it never is: one delivery for each kill.
    printf("own=%s\n", own == signals ? "all" : "lost");
    return 0;
}
