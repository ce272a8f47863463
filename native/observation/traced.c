#include "observation/traced.h"

#include <errno.h>
#include <string.h>

#include "interposed/ptrace.h"
#include "sampler/raw.h"

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

bool whyperf_before_traced(void) {
    if (before_traced)
        before_traced();
    return false;
}

void whyperf_not_traced(void) {}
