#include "interposed/ptrace.h"

#include <stdarg.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include "interposed/next.h"

DECLARE_NEXT(ptrace);

EXPORT long ptrace(enum __ptrace_request request, ...) {
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    void *address = va_arg(list, void *), *data = va_arg(list, void *);
    va_end(list);
    bool asks = request == PTRACE_TRACEME && whyperf_before_traced();
    long result = NEXT(ptrace)(request, pid, address, data);
    if (asks && result != 0)
        whyperf_not_traced();
    return result;
}
