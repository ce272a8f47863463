#define _GNU_SOURCE
#include "debuginfo/isolate.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GAVE_UP = 1, MEMORY_LIMIT_GB = 16 };

_Noreturn void isolate_give_up(void) {
    _exit(GAVE_UP);
}

static _Noreturn void run_child(bool (*job)(void *, int), void *argument, struct isolate_limits limits, int output) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent's handlers belong to its interpreter, and a crash here must neither dump core nor run a fault handler.
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_CPU, &(struct rlimit){limits.cpu_seconds, limits.cpu_seconds + 1});
    setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t)MEMORY_LIMIT_GB << 30, (rlim_t)MEMORY_LIMIT_GB << 30});
    _exit(job(argument, output) ? 0 : GAVE_UP);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// The status is not all: in a program that reaps every child it is lost, and then only the memory file speaks.
static enum isolate_end wait_for(pid_t child, struct isolate_limits limits, bool (*interrupted)(void)) {
    double start = now(), next_question = start + 0.05;
    long pause_ns = 100 * 1000;
    for (;;) {
        int status;
        pid_t waited = waitpid(child, &status, WNOHANG);
        if (waited == child && WIFSIGNALED(status))
            return WTERMSIG(status) == SIGXCPU ? ISOLATE_TIMEOUT : ISOLATE_CRASHED;
        if (waited == child)
            return WEXITSTATUS(status) ? ISOLATE_FAILED : ISOLATE_DONE;
        if (waited < 0 && errno != EINTR)
            return ISOLATE_DONE;
        double moment = now();
        bool late = moment - start > limits.wall_seconds;
        bool stop = false;
        if (moment > next_question) {
            stop = interrupted();
            next_question = moment + 0.05;
        }
        if (late || stop) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return stop ? ISOLATE_INTERRUPTED : ISOLATE_TIMEOUT;
        }
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        if (pause_ns < 4 * 1000 * 1000)
            pause_ns *= 2;
    }
}

enum isolate_end isolate_run(bool (*job)(void *, int), void *argument, struct isolate_limits limits,
                             bool (*interrupted)(void), int *output) {
    *output = memfd_create("whyperf-debuginfo", MFD_CLOEXEC);
    if (*output < 0)
        return ISOLATE_NO_CHILD;
    pid_t child = fork();
    if (child == 0)
        run_child(job, argument, limits, *output);
    enum isolate_end end = child < 0 ? ISOLATE_NO_CHILD : wait_for(child, limits, interrupted);
    if (end != ISOLATE_DONE) {
        close(*output);
        *output = -1;
    }
    return end;
}
