#include "probes/sandbox.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "interposed/next.h"
#include "interposed/syscall.h"
#include "machine/machine.h"

DECLARE_NEXT(prctl);

static _Atomic bool forbidden;
static void (*before_sandbox)(void);

void sandbox_watch(void (*before)(void)) {
    before_sandbox = before;
}

static void forbid(void) {
    if (before_sandbox)
        before_sandbox();
    atomic_store(&forbidden, true);
}

bool sandbox_forbids_system_calls(void) {
    return atomic_load_explicit(&forbidden, memory_order_relaxed);
}

EXPORT int prctl(int option, ...) {
    unsigned long arguments[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    __typeof__(&prctl) next = NEXT(prctl);
    bool before = sandbox_forbids_system_calls();
    if (option == PR_SET_SECCOMP)
        forbid();
    int result = next(option, arguments[0], arguments[1], arguments[2], arguments[3]);
    if (option == PR_SET_SECCOMP && result != 0)
        atomic_store(&forbidden, before);
    return result;
}

long whyperf_seccomp(long operation, long flags, void *arguments) {
    bool installs = operation == SECCOMP_SET_MODE_FILTER || operation == SECCOMP_SET_MODE_STRICT;
    bool before = sandbox_forbids_system_calls();
    if (installs)
        forbid();
    // Not by syscall(), which leads here.
    long raw = machine_system_call3(SYS_seccomp, operation, flags, (long)arguments);
    if (raw >= 0 || raw <= -4096)
        return raw;
    if (installs)
        atomic_store(&forbidden, before);
    errno = (int)-raw;
    return -1;
}

void whyperf_after_clone(long number, unsigned long argument) {
    (void)number;
    (void)argument;
}
