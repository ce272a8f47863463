#include "observation/traced.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ptrace.h>

#include "probes/next.h"
#include "sampler/raw.h"

static _Atomic(void *) next_ptrace;
static void (*before_traced)(void);

bool traced_now(void) {
    static const char name[] = "\nTracerPid:\t";
    char text[1024];
    int saved_errno = errno;
    int fd = raw_open("/proc/self/status", O_RDONLY, 0);
    long bytes = fd < 0 ? -1 : raw_read(fd, text, sizeof text - 1);
    if (fd >= 0)
        raw_close(fd);
    errno = saved_errno;
    text[bytes > 0 ? bytes : 0] = 0;
    const char *found = strstr(text, name);
    return found && found[sizeof name - 1] != '0';
}

void traced_watch(void (*before)(void)) {
    before_traced = before;
}

EXPORT long ptrace(enum __ptrace_request request, ...) {
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    void *address = va_arg(list, void *), *data = va_arg(list, void *);
    va_end(list);
    if (request == PTRACE_TRACEME && before_traced)
        before_traced();
    return NEXT(ptrace)(request, pid, address, data);
}
