// Programs at events of perf: clocks, watched variables, functions.
#include "tracer/open.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(struct perf_event_attr *attributes, pid_t thread, int cpu) {
    attributes->size = sizeof *attributes;
    return (int)syscall(SYS_perf_event_open, attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

struct bpf_link *attach_event(const struct bpf_program *program, u32 cpu, const struct counted_event *event,
                              char why[TRACER_TEXT]) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .config = event->config,
        .sample_period = event->period,
        .exclude_idle = 1,
    };
    int fd = open_event(&attributes, -1, (int)cpu);
    struct bpf_link *link = fd < 0 ? NULL : bpf_program__attach_perf_event(program, fd);
    if (!link) {
        int error = errno;
        snprintf(why, TRACER_TEXT, "the %s of CPU %u cannot be used: %s", event->name, cpu, strerror(error));
        if (fd >= 0)
            close(fd);
        errno = error;
    }
    return link;
}

int watch_flag(struct tracer *tracer, pid_t thread, const struct watched_flag *flag) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_BREAKPOINT,
        .bp_type = flag->reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W,
        .bp_addr = flag->address,
        .bp_len = flag->length,
        .sample_period = 1,
        .exclude_kernel = 1,
        .inherit = 1, // whatever thread it starts may be the one that writes
    };
    if (tracer->flag_program <= 0)
        return ENOTSUP;
    int *larger = realloc(tracer->flag_links, (tracer->flag_count + 1) * sizeof *larger);
    if (!larger)
        return ENOMEM;
    tracer->flag_links = larger;
    int fd = open_event(&attributes, thread, -1);
    if (fd < 0)
        return errno;
    int link = bpf_link_create(tracer->flag_program, fd, BPF_PERF_EVENT, NULL);
    int error = link < 0 ? errno : 0;
    close(fd); // the link holds the event
    if (!error)
        tracer->flag_links[tracer->flag_count++] = link;
    return error;
}

// The kernel's number for events of this kind; it differs from boot to boot.
static int uprobe_type(void) {
    FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
    int type = -1;
    if (file && fscanf(file, "%d", &type) != 1)
        type = -1;
    if (file)
        fclose(file);
    return type;
}

static int probe(int program, int type, pid_t process, const char *path, u64 offset, u64 cookie) {
    struct perf_event_attr attributes = {
        .type = (u32)type,
        .uprobe_path = (u64)(uintptr_t)path,
        .probe_offset = offset,
    };
    int fd = open_event(&attributes, process, process == -1 ? 0 : -1);
    if (fd < 0)
        return -errno;
    LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);
    int link = bpf_link_create(program, fd, BPF_PERF_EVENT, &options);
    int error = link < 0 ? errno : 0;
    close(fd); // the link holds the event
    return error ? -error : link;
}

int probe_tasks(int program, pid_t process, const char *path, u64 offset, u64 cookie) {
    int type = program >= 0 ? uprobe_type() : -1;
    int link = type >= 0 ? probe(program, type, process, path, offset, cookie) : -ENOTSUP;
    if (program >= 0)
        close(program);
    return link;
}
