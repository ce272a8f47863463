// Timers of its own: interval timers read back, a CPU-time timer of a thread, ticks within what CPU time allows.
#include <signal.h>
#include <sys/time.h>

#include "work.h"

static volatile int virtual_ticks, profile_ticks, timer_ticks;

static void count(int number) {
    *(number == SIGVTALRM ? &virtual_ticks : number == SIGPROF ? &profile_ticks : &timer_ticks) += 1;
}

int main(void) {
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    int numbers[] = {SIGVTALRM, SIGPROF, SIGRTMAX - 1};
    for (int i = 0; i < 3; i++) {
        MUST(sigaction(numbers[i], &action, NULL) == 0);
    }
    struct itimerval period = {{0, 10000}, {0, 10000}}, none = {{0, 0}, {0, 0}}, told;
    MUST(setitimer(ITIMER_VIRTUAL, &period, &told) == 0 && told.it_interval.tv_usec == 0);
    MUST(setitimer(ITIMER_PROF, &period, &told) == 0 && told.it_interval.tv_usec == 0);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX - 1};
    MUST(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0);
    struct itimerspec often = {{0, 10000000}, {0, 10000000}};
    MUST(timer_settime(timer, 0, &often, NULL) == 0);
    burn(1);
    MUST(getitimer(ITIMER_PROF, &told) == 0 && told.it_interval.tv_usec == 10000);
    MUST(setitimer(ITIMER_PROF, &none, NULL) == 0 && setitimer(ITIMER_VIRTUAL, &none, NULL) == 0);
    MUST(timer_delete(timer) == 0);
    int counted[] = {virtual_ticks, profile_ticks, timer_ticks};
    for (int i = 0; i < 3; i++) {
        printf("%s ", counted[i] > 20 && counted[i] <= 130 ? "yes" : "no");
    }
    printf("\n");
    return 0;
}
