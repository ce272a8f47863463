// Loading and attaching: whatever this kernel refuses costs what it would have recorded, not the rest.
#include "tracer/open.h"
#include "tracer/programs.h"
#include "tracer/rows.h"
#include "tracer/tracer.h"

#include "tracer.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// libbpf says only in its messages which program the kernel refused, and why.
static _Thread_local struct {
    char refused[64];
    char last[TRACER_TEXT];   // last message
    char reason[TRACER_TEXT]; // last line of the verifier
} said;

static int listen_to_libbpf(enum libbpf_print_level level, const char *format, va_list arguments) {
    static _Thread_local char text[1 << 16];
    char name[64];
    if (level == LIBBPF_DEBUG)
        return 0;
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = ' ';
    snprintf(said.last, sizeof said.last, "%.500s", strncmp(text, "libbpf: ", 8) == 0 ? text + 8 : text);
    said.last[strcspn(said.last, "\n")] = '\0';
    if (sscanf(text, "libbpf: prog '%63[^']': failed to load", name) == 1 && strstr(text, "failed to load"))
        snprintf(said.refused, sizeof said.refused, "%s", name);
    // The verifier's complaint comes just before its statistics.
    char *statistics = strstr(text, "\nprocessed ");
    if (statistics) {
        *statistics = '\0';
        char *line = strrchr(text, '\n');
        snprintf(said.reason, sizeof said.reason, "%.500s", line ? line + 1 : text);
    }
    return 0;
}

static void note_absent(struct tracer *tracer, const char *name, const char *why) {
    const struct tracer_program *program = tracer_program(name);
    const char *records = program ? program->records : name;
    for (u32 i = 0; i < tracer->absent_count; i++)
        if (strcmp(tracer->absent[i].name, records) == 0)
            return;
    if (tracer->absent_count < TRACER_PROGRAMS) {
        struct absent_program *absent = &tracer->absent[tracer->absent_count++];
        absent->name = records;
        snprintf(absent->why, sizeof absent->why, "%s", why);
    }
}

struct kernel_types {
    struct btf *btf;
    const char *without; // tracepoints and functions that are taken for missing
};

static bool taken_for_missing(const struct kernel_types *kernel, const char *what) {
    char name[128];
    snprintf(name, sizeof name, ",%s,", what);
    return strstr(kernel->without, name) != NULL;
}

static bool has_function(const struct kernel_types *kernel, const char *name) {
    return !taken_for_missing(kernel, name) && btf__find_by_name_kind(kernel->btf, name, BTF_KIND_FUNC) > 0;
}

// How many arguments the kernel's tracepoint has; -1 if it has no such tracepoint.
static int tracepoint_arguments(const struct kernel_types *kernel, const char *section) {
    char name[128];
    if (taken_for_missing(kernel, section + strlen("tp_btf/")))
        return -1;
    snprintf(name, sizeof name, "btf_trace_%s", section + strlen("tp_btf/"));
    int id = btf__find_by_name_kind(kernel->btf, name, BTF_KIND_TYPEDEF);
    const struct btf_type *type = id > 0 ? btf__type_by_id(kernel->btf, (u32)id) : NULL;
    type = type ? btf__type_by_id(kernel->btf, type->type) : NULL; // a pointer
    type = type ? btf__type_by_id(kernel->btf, type->type) : NULL; // to a function
    return type && btf_is_func_proto(type) ? btf_vlen(type) - 1 : -1;
}

static bool wanted_here(const struct kernel_types *kernel, const struct bpf_program *program, u64 kinds, bool *exists) {
    const struct tracer_program *known = tracer_program(bpf_program__name(program));
    const char *section = bpf_program__section_name(program);
    *exists = true;
    if (!known || (known->kind && !(kinds >> known->kind & 1)))
        return false;
    if (strncmp(section, "tp_btf/", 7) != 0)
        return true;
    int arguments = tracepoint_arguments(kernel, section);
    *exists = arguments >= 0;
    // Two programs know one tracepoint with different arguments.
    if (strcmp(known->name, "wp_uring_done") == 0)
        return arguments == 3;
    if (strcmp(known->name, "wp_uring_result") == 0)
        return arguments > 3;
    return *exists;
}

static void choose_programs(struct tracer *tracer, struct bpf_object *object, const struct kernel_types *kernel,
                            u64 kinds, const struct refused_programs *refused) {
    struct bpf_program *program;
    bpf_object__for_each_program(program, object) {
        const char *name = bpf_program__name(program);
        bool exists, wanted = wanted_here(kernel, program, kinds, &exists);
        for (u32 i = 0; i < refused->count; i++)
            wanted = wanted && strcmp(refused->names[i], name) != 0;
        bpf_program__set_autoload(program, wanted);
        const struct tracer_program *known = tracer_program(name);
        if (exists || !known || (known->kind && !(kinds >> known->kind & 1)))
            continue;
        const struct bpf_program *other =
            known->instead ? bpf_object__find_program_by_name(object, known->instead) : NULL;
        bool replaced = false;
        if (other)
            wanted_here(kernel, other, kinds, &replaced);
        if (!replaced) {
            char why[TRACER_TEXT];
            snprintf(why, sizeof why, "this kernel has no tracepoint %s",
                     bpf_program__section_name(program) + strlen("tp_btf/"));
            note_absent(tracer, name, why);
        }
    }
}

static u64 power_of_two(u64 at_most) {
    u64 power = 1;
    while (2 * power <= at_most)
        power *= 2;
    return power;
}

static void size_maps(struct tracer_bpf *skeleton, const struct tracer_options *options) {
    struct trace_settings *settings = &skeleton->rodata->settings;
    enum { PAGE = sizeof(struct trace_stack_page), LEAST_PAGES = 8, STACK_BYTES = 160 };
    *settings = options->settings;
    settings->layout = TRACE_LAYOUT;
    settings->ring_slots = options->ring_bytes / settings->cpus / sizeof(struct trace_record);
    if (settings->ring_slots < 64)
        settings->ring_slots = 64;
    settings->stack_pages = power_of_two(options->stack_bytes / settings->cpus / PAGE);
    if (settings->stack_pages < LEAST_PAGES)
        settings->stack_pages = LEAST_PAGES;
    // Twice as many slots as stacks of usual depth fit into the pages.
    settings->intern_sets = power_of_two(settings->cpus * settings->stack_pages * TRACE_STACK_PAGE / STACK_BYTES / 2);
    bpf_map__set_max_entries(skeleton->maps.wp_ring, (u32)(settings->cpus * settings->ring_slots));
    bpf_map__set_max_entries(skeleton->maps.wp_cpus, settings->cpus);
    bpf_map__set_max_entries(skeleton->maps.wp_pages, (u32)(settings->cpus * settings->stack_pages));
    bpf_map__set_max_entries(skeleton->maps.wp_interned, (u32)settings->intern_sets);
}

static int open_skeleton(struct tracer_bpf **skeleton, char text[TRACER_TEXT]) {
    *skeleton = tracer_bpf__open();
    if (*skeleton)
        return 0;
    int error = errno ? errno : EINVAL;
    snprintf(text, TRACER_TEXT, "%s", said.last);
    return error;
}

static int load(struct tracer *tracer, const struct tracer_options *options, const struct kernel_types *kernel,
                struct tracer_bpf **loaded, char text[TRACER_TEXT]) {
    struct refused_programs refused = {0};
    bool direct = has_function(kernel, "bpf_rdonly_cast");
    for (;;) {
        struct tracer_bpf *skeleton;
        int error = open_skeleton(&skeleton, text);
        if (error)
            return error;
        size_maps(skeleton, options);
        skeleton->rodata->settings.reads_directly = direct;
        choose_programs(tracer, skeleton->obj, kernel, options->settings.kinds, &refused);
        said.refused[0] = said.reason[0] = '\0';
        error = -tracer_bpf__load(skeleton);
        if (!error) {
            *loaded = skeleton;
            return 0;
        }
        tracer_bpf__destroy(skeleton);
        if (direct) { // a kernel that has the function may still not let these programs call it
            direct = false;
            continue;
        }
        if (!said.refused[0] || refused.count == TRACER_PROGRAMS || error == EPERM) {
            snprintf(text, TRACER_TEXT, "%s", said.last);
            return error;
        }
        char why[TRACER_TEXT];
        snprintf(why, sizeof why, "the kernel refused the program: %.400s",
                 said.reason[0] ? said.reason : strerror(error));
        note_absent(tracer, said.refused, why);
        snprintf(refused.names[refused.count++], sizeof refused.names[0], "%s", said.refused);
    }
}

// Not inherited by the programs that the recorder starts: they would have strange descriptors, and keep the programs.
static int duplicate(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

static void take_maps(struct tracer *tracer, const struct tracer_bpf *skeleton) {
    const struct bpf_map *maps[TRACER_MAPS] = {
        [IN_RING] = skeleton->maps.wp_ring,           [IN_CPUS] = skeleton->maps.wp_cpus,
        [IN_PAGES] = skeleton->maps.wp_pages,         [IN_INTERNED] = skeleton->maps.wp_interned,
        [IN_SHED] = skeleton->maps.wp_shed,           [IN_RULES] = skeleton->maps.wp_rules,
        [IN_MAPPINGS] = skeleton->maps.wp_mappings,   [IN_GLOBALS] = skeleton->maps.bss,
        [IN_SETTINGS] = skeleton->maps.rodata,        [IN_CHUNKS] = skeleton->maps.wp_chunks,
        [IN_PROCESSES] = skeleton->maps.wp_processes, [IN_BEGUN] = skeleton->maps.wp_begun,
        [IN_HOLDERS] = skeleton->maps.wp_holders,     [IN_NOTICES] = skeleton->maps.wp_notices,
        [IN_TASKS] = skeleton->maps.wp_tasks,
    };
    for (int i = 0; i < TRACER_MAPS; i++)
        tracer->maps[i].fd = duplicate(bpf_map__fd(maps[i]));
}

static void keep_link(struct tracer *tracer, struct bpf_link *link) {
    struct bpf_link **larger = realloc(tracer->links, (tracer->link_count + 1) * sizeof *larger);
    if (!larger) {
        bpf_link__destroy(link);
        return;
    }
    tracer->links = larger;
    tracer->links[tracer->link_count++] = link;
}

static void attach(struct tracer *tracer, struct bpf_program *program) {
    const char *name = bpf_program__name(program);
    tracer_keep_program(tracer, duplicate(bpf_program__fd(program)));
    if (strcmp(name, "wp_flag") == 0)
        tracer->flag_program = duplicate(bpf_program__fd(program));
    if (strcmp(name, "wp_task") == 0)
        tracer->task_program = duplicate(bpf_program__fd(program));
    // Those at events of perf are attached to each of them; those at functions, as functions are found.
    if (bpf_program__type(program) == BPF_PROG_TYPE_PERF_EVENT || bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
        return;
    struct bpf_link *link = bpf_program__attach(program);
    if (link)
        keep_link(tracer, link);
    else
        note_absent(tracer, name, said.last);
}

// Where the program is one for such events.
static void attach_to_cpus(struct tracer *tracer, const struct bpf_program *program,
                           const struct counted_event *event) {
    char why[TRACER_TEXT] = "";
    if (bpf_program__fd(program) < 0 || bpf_program__type(program) != BPF_PROG_TYPE_PERF_EVENT)
        return;
    for (u32 cpu = 0; cpu < tracer->settings->cpus; cpu++) {
        struct bpf_link *link = attach_event(program, cpu, event, why);
        if (link)
            keep_link(tracer, link);
        else if (errno != ENODEV) // a CPU that is off
            note_absent(tracer, bpf_program__name(program), why);
    }
}

int tracer_open(struct tracer *tracer, const struct tracer_options *options, char text[TRACER_TEXT]) {
    struct tracer_bpf *skeleton;
    libbpf_set_print(listen_to_libbpf);
    struct kernel_types kernel = {btf__load_vmlinux_btf(), options->without};
    if (!kernel.btf) {
        int error = errno;
        snprintf(text, TRACER_TEXT, "the kernel does not describe its types (no /sys/kernel/btf/vmlinux)");
        return error == EPERM || error == EACCES ? error : ENOTSUP;
    }
    for (int i = 0; i < TRACER_MAPS; i++)
        tracer->maps[i].fd = -1;
    int error = load(tracer, options, &kernel, &skeleton, text);
    btf__free(kernel.btf);
    if (error)
        return error;
    take_maps(tracer, skeleton);
    error = tracer_map_shared(tracer, text);
    if (!error && !prepare_rows(tracer)) {
        error = errno ? errno : ENOMEM;
        snprintf(text, TRACER_TEXT, "there is no memory for unwind tables");
    }
    if (!error) {
        tracer->globals->running = 0;
        struct bpf_program *program;
        bpf_object__for_each_program(program, skeleton->obj) {
            if (bpf_program__fd(program) >= 0)
                attach(tracer, program);
        }
        struct counted_event clock = {"clock", PERF_COUNT_SW_CPU_CLOCK, tracer->settings->sample_period};
        struct counted_event faults = {"page faults", PERF_COUNT_SW_PAGE_FAULTS, 1};
        attach_to_cpus(tracer, skeleton->progs.wp_sample, &clock);
        attach_to_cpus(tracer, skeleton->progs.wp_page_fault, &faults);
        tracer->globals->running = !options->paused;
    }
    tracer_bpf__destroy(skeleton);
    return error;
}

const struct trace_settings *tracer_settings(const void *rodata) {
    return &((const struct tracer_bpf__rodata *)rodata)->settings;
}

struct trace_globals *tracer_globals(void *bss) {
    return &((struct tracer_bpf__bss *)bss)->globals;
}
