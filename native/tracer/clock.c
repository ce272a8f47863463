#include "tracer/open.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct bpf_link *attach_clock(const struct bpf_program *program, u32 cpu, u64 period, char why[TRACER_TEXT]) {
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period,
        .exclude_idle = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        snprintf(why, TRACER_TEXT, "no clock of CPU %u: %s", cpu, strerror(error));
        errno = error;
        return NULL;
    }
    struct bpf_link *link = bpf_program__attach_perf_event(program, fd);
    if (!link) {
        int error = errno;
        snprintf(why, TRACER_TEXT, "no program at the clock of CPU %u: %s", cpu, strerror(error));
        close(fd);
        errno = error;
    }
    return link;
}
