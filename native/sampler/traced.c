// A program that has itself traced is stopped by every signal until its parent lets it go on, which a parent that did
// not ask for it never does: sampling of this process ends first.
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "interposed/ptrace.h"
#include "sampler/sampler.h"

bool whyperf_before_traced(void) {
    // A child of vfork() has no timers, and its parent's memory.
    bool ends = this_process.session && getpid() == this_process.pid && !atomic_load(&this_process.no_system_calls) &&
                !atomic_exchange(&this_process.sampling_forbidden, true);
    if (ends) {
        timers_stop_all();
        this_thread.timer = -1;
        this_thread.event_page = NULL;
    }
    return ends;
}

void whyperf_not_traced(void) {
    int saved_errno = errno;
    atomic_store(&this_process.sampling_forbidden, false);
    timer_start();
    errno = saved_errno;
}
