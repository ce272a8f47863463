// A program that has itself traced is stopped by every signal until its parent lets it go on, which a parent that did
// not ask for it never does: sampling of this process ends first.
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "sampler/sampler.h"

DECLARE_NEXT(ptrace);

EXPORT long ptrace(enum __ptrace_request request, ...) {
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    void *address = va_arg(list, void *), *data = va_arg(list, void *);
    va_end(list);
    // A child of vfork() has no timers, and its parent's memory.
    bool ends = request == PTRACE_TRACEME && this_process.session && getpid() == this_process.pid &&
                !atomic_load(&this_process.no_system_calls) && !atomic_exchange(&this_process.sampling_forbidden, true);
    if (ends) {
        timers_stop_all();
        this_thread.timer = -1;
        this_thread.event_page = NULL;
    }
    long result = NEXT(ptrace)(request, pid, address, data);
    if (ends && result != 0) {
        int saved_errno = errno;
        atomic_store(&this_process.sampling_forbidden, false);
        timer_start();
        errno = saved_errno;
    }
    return result;
}
