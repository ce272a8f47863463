#include "tracer/serve.h"
#include "tracer/processes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool append(struct served_list *list, struct served item) {
    if (list->count == list->capacity) {
        u32 capacity = list->capacity ? 2 * list->capacity : 64;
        struct served *larger = realloc(list->items, capacity * sizeof *larger);
        if (!larger)
            return false;
        list->items = larger;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
    return true;
}

static int take_notice(void *context, void *data, size_t size) {
    struct served_list *list = context;
    const struct trace_notice *notice = data;
    if (size < sizeof *notice)
        return 0;
    static _Atomic u64 order;
    struct served item = {.time = notice->time, .order = order++, .kind = notice->kind, .pid = notice->pid};
    if (notice->kind == TRACE_NOTICE_FORK)
        item.child = (u32)notice->address;
    append(list, item);
    return 0;
}

static int take_task(void *context, void *data, size_t size) {
    struct task_records *tasks = context;
    if (size < sizeof *tasks->items)
        return 0;
    if (tasks->count == tasks->capacity) {
        u32 capacity = tasks->capacity ? 2 * tasks->capacity : 256;
        struct trace_record *larger = realloc(tasks->items, capacity * sizeof *larger);
        if (!larger)
            return 0;
        tasks->items = larger;
        tasks->capacity = capacity;
    }
    memcpy(&tasks->items[tasks->count++], data, sizeof *tasks->items);
    return 0;
}

static void answer(struct tracer *tracer, struct served *notice) {
    enum { PATIENCE = 100, MOST_PATIENCE = 10000 };
    if (notice->kind == TRACE_NOTICE_EXIT) {
        bury_process(tracer, notice->pid);
        return;
    }
    struct served_process *process = find_or_add(tracer, notice->pid);
    if (!process)
        return;
    // Code in no module (a just-in-time compiler's) is not looked for again and again.
    if (notice->kind == TRACE_NOTICE_UNKNOWN && process->modules.unwind)
        process->patience = process->patience ? 2 * process->patience : PATIENCE;
    else
        process->patience = 0;
    if (process->patience > MOST_PATIENCE)
        process->patience = MOST_PATIENCE;
    notice->error = learn_process(tracer, notice->pid, &notice->known);
}

static int by_pid_and_place(const void *a, const void *b) {
    const struct served *left = a, *right = b;
    if (left->pid != right->pid)
        return left->pid < right->pid ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static int by_urgency(const void *a, const void *b) {
    const struct served *left = a, *right = b;
    if (left->urgent != right->urgent)
        return left->urgent ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static bool is_urgent(struct tracer *tracer, u32 pid) {
    struct trace_process process;
    return bpf_map_lookup_elem(tracer->maps[IN_PROCESSES].fd, &pid, &process) == 0 && process.scope & TRACE_FOLLOWED;
}

// Of every process the last notice waits for its answer: it answers the earlier ones too, which are done with.
static void supersede(struct tracer *tracer, struct served_list *waiting, struct served_list *done) {
    u32 kept = 0;
    qsort(waiting->items, waiting->count, sizeof *waiting->items, by_pid_and_place);
    for (u32 i = 0; i < waiting->count; i++) {
        struct served *item = &waiting->items[i];
        if (i + 1 < waiting->count && item[1].pid == item->pid) {
            append(done, *item);
            continue;
        }
        item->urgent = is_urgent(tracer, item->pid);
        waiting->items[kept++] = *item;
    }
    waiting->count = kept;
    qsort(waiting->items, waiting->count, sizeof *waiting->items, by_urgency);
}

// Forks are answered first, while what parents had mapped is still known. That somebody was met needs no answer.
static void answer_forks(struct tracer *tracer, struct served_list *waiting, struct served_list *done) {
    u32 kept = 0;
    for (u32 i = 0; i < waiting->count; i++) {
        struct served *item = &waiting->items[i];
        if (item->kind == TRACE_NOTICE_FORK)
            inherit_modules(tracer, item);
        if (item->kind == TRACE_NOTICE_FORK || item->kind == TRACE_NOTICE_MET)
            append(done, *item);
        else
            waiting->items[kept++] = *item;
    }
    waiting->count = kept;
}

int notices_to_wait_for(struct tracer *tracer) {
    if (!tracer->notices) {
        tracer->notices = ring_buffer__new(tracer->maps[IN_NOTICES].fd, take_notice, &tracer->pending, NULL);
        if (!tracer->notices || ring_buffer__add(tracer->notices, tracer->maps[IN_TASKS].fd, take_task, &tracer->tasks))
            return -1;
    }
    return tracer->pending.count ? 0 : ring_buffer__epoll_fd(tracer->notices);
}

static u64 notices_lost(const struct tracer *tracer) {
    u64 lost = 0;
    for (u32 cpu = 0; cpu < tracer->settings->cpus; cpu++)
        lost += tracer_cpu(tracer, cpu)->counters[TRACE_COUNT_NOTICES_LOST];
    return lost;
}

int serve_notices(struct tracer *tracer, struct served_list *done) {
    // Large modules take long; meanwhile others, perhaps more urgent ones, may have something to say.
    const u64 slice = 20000000;
    struct served_list *waiting = &tracer->pending;
    *done = (struct served_list){0};
    int got = ring_buffer__consume(tracer->notices);
    if (got < 0)
        return -got;
    // Notices that found no room, or were given while nobody served.
    u64 lost = notices_lost(tracer);
    if (lost != tracer->notices_lost) {
        bury_all_gone(tracer);
        tracer->notices_lost = lost;
    }
    answer_forks(tracer, waiting, done);
    supersede(tracer, waiting, done);
    u64 began = monotonic_ns();
    u32 answered = 0;
    for (; answered < waiting->count && monotonic_ns() - began < slice; answered++) {
        answer(tracer, &waiting->items[answered]);
        append(done, waiting->items[answered]);
    }
    waiting->count -= answered;
    memmove(waiting->items, waiting->items + answered, waiting->count * sizeof *waiting->items);
    return 0;
}

void notices_clear(struct tracer *tracer) {
    ring_buffer__free(tracer->notices);
    tracer->notices = NULL;
    free(tracer->pending.items);
    tracer->pending = (struct served_list){0};
    free(tracer->tasks.items);
    tracer->tasks = (struct task_records){0};
}
