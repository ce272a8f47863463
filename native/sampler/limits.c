// Programs that lower how many signals may be queued: an event's signal that finds no room would end them (SIGIO).
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/sampler.h"

DECLARE_NEXT(setrlimit);
DECLARE_NEXT(setrlimit64);
DECLARE_NEXT(prlimit);
DECLARE_NEXT(prlimit64);

_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "one layout");

static void before_limiting(int resource, pid_t pid, const void *asked) {
    const struct rlimit *limit = asked;
    if (!this_process.session || resource != RLIMIT_SIGPENDING || !limit || timers_can_queue_within(limit->rlim_cur))
        return;
    // A child of vfork() has no events, and its parent's memory.
    pid_t own = getpid();
    if (own == this_process.pid && (!pid || pid == own) && !atomic_load(&this_process.no_system_calls)) {
        int saved_errno = errno;
        timers_replace_events();
        errno = saved_errno;
    }
}

EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
    before_limiting((int)resource, 0, limit);
    return NEXT(setrlimit)(resource, limit);
}

EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) {
    before_limiting((int)resource, 0, limit);
    return NEXT(setrlimit64)(resource, limit);
}

EXPORT int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *limit, struct rlimit *previous) {
    before_limiting((int)resource, pid, limit);
    return NEXT(prlimit)(pid, resource, limit, previous);
}

EXPORT int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit, struct rlimit64 *previous) {
    before_limiting((int)resource, pid, limit);
    return NEXT(prlimit64)(pid, resource, limit, previous);
}
