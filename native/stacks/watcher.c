#include "stacks/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_task_file(pid_t pid, pid_t tid, const char *name) {
    char path[80];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

// Reads a short file from its beginning; false with errno.
static bool read_text(int fd, char *text, size_t size) {
    ssize_t got = pread(fd, text, size - 1, 0);
    if (got < 0)
        return false;
    text[got] = '\0';
    return true;
}

static bool is_gone(int error) {
    return error == ENOENT || error == ESRCH;
}

static struct blocked_thread **thread_link(struct blocked_threads *threads, pid_t pid, pid_t tid) {
    struct blocked_thread **link = &threads->buckets[(unsigned)tid % THREAD_BUCKETS];
    while (*link && ((*link)->tid != tid || (*link)->pid != pid))
        link = &(*link)->next;
    return link;
}

static void drop_thread(struct blocked_threads *threads, struct blocked_thread **link) {
    struct blocked_thread *thread = *link;
    *link = thread->next;
    for (unsigned which = 0; which < THREAD_FILES; which++)
        if (thread->files[which] >= 0) {
            close(thread->files[which]);
            threads->descriptors--;
        }
    free(thread->pcs);
    free(thread);
}

// What a file of the thread says now. It stays open, so that the next time takes a single read.
static bool read_kept(struct blocked_threads *threads, struct blocked_thread *thread, enum thread_file which,
                      char *text, size_t size) {
    enum { DESCRIPTORS_MAX = 256 };
    static const char *const names[THREAD_FILES] = {[SCHEDULE] = "schedstat", [SYSTEM_CALL] = "syscall"};
    int fd = thread->files[which];
    if (fd < 0)
        fd = open_task_file(thread->pid, thread->tid, names[which]);
    if (fd < 0)
        return false;
    bool there = read_text(fd, text, size);
    int error = errno;
    if (thread->files[which] < 0 && there && threads->descriptors < DESCRIPTORS_MAX) {
        thread->files[which] = fd;
        threads->descriptors++;
    } else if (thread->files[which] < 0) {
        close(fd);
    }
    errno = error;
    return there;
}

// How often the thread has been scheduled. Empty where the kernel does not tell. False with errno when it is gone.
static bool read_schedule(struct blocked_threads *threads, struct blocked_thread *thread, char text[64]) {
    text[0] = '\0';
    if (read_kept(threads, thread, SCHEDULE, text, 64))
        return true;
    if (thread->files[SCHEDULE] >= 0 || errno != ENOENT)
        return false;
    // Absent from kernels without scheduler statistics, but then the thread's folder is there.
    int folder = open_task_file(thread->pid, thread->tid, "");
    if (folder < 0)
        return false;
    close(folder);
    return true;
}

// "NUMBER arguments... sp pc", or "-1 sp pc" for a thread that sleeps outside a system call (in a page fault).
static bool parse_system_call(const char *text, struct waiting_place *place) {
    const char *before_last = NULL, *last = NULL;
    for (const char *at = strchr(text, ' '); at; at = strchr(at + 1, ' ')) {
        before_last = last;
        last = at;
    }
    if (!before_last || sscanf(text, "%" SCNd64, &place->number) != 1)
        return false;
    place->sp = strtoull(before_last, NULL, 16);
    place->pc = strtoull(last, NULL, 16);
    return place->sp != 0;
}

static void forget_process(struct watcher *watcher, pid_t pid) {
    for (struct process **link = &watcher->processes; *link; link = &(*link)->next) {
        struct process *process = *link;
        if (process->pid != pid)
            continue;
        *link = process->next;
        process_clear(process);
        free(process);
        return;
    }
}

struct process *watch_process(struct watcher *watcher, pid_t pid) {
    struct process *process = watcher->processes;
    while (process && process->pid != pid)
        process = process->next;
    if (!process) {
        process = calloc(1, sizeof *process);
        if (!process)
            return NULL;
        process->pid = pid;
        process->next = watcher->processes;
        watcher->processes = process;
    }
    if (!process->unwind) {
        int error = process_refresh(process, &watcher->tables);
        if (error) {
            forget_process(watcher, pid);
            errno = error;
            return NULL;
        }
    }
    return process;
}

bool refresh_after(struct watcher *watcher, struct process *process, const struct walk *walk) {
    enum { OUTER_FRAMES_NS = 1000000000, INNERMOST_FRAME_NS = 10000000 };
    if (!walk->missed_a_module)
        return false;
    // An unknown innermost frame means a new image or library; further out it mostly is code without a module.
    uint64_t patience = unwind_find_module(process->unwind, walk->pcs[0]) ? OUTER_FRAMES_NS : INNERMOST_FRAME_NS;
    return monotonic_ns() - process->refreshed > patience && process_refresh(process, &watcher->tables) == 0;
}

static bool keep_walk(struct blocked_thread *thread, const struct walk *walk) {
    uint64_t *pcs = realloc(thread->pcs, walk->depth * sizeof *pcs);
    if (!pcs)
        return false;
    memcpy(pcs, walk->pcs, walk->depth * sizeof *pcs);
    thread->pcs = pcs;
    thread->depth = walk->depth;
    thread->cut = walk->cut;
    return true;
}

static bool same_walk(const struct blocked_thread *thread, const struct walk *walk) {
    return thread->depth == walk->depth && thread->cut == walk->cut &&
           memcmp(thread->pcs, walk->pcs, walk->depth * sizeof *walk->pcs) == 0;
}

static bool keep_place(struct blocked_thread *thread, const struct waiting_place *place) {
    struct walk walk = {.depth = 1, .cut = CUT_WENT_ON};
    walk.pcs[0] = place->pc;
    thread->number = place->number;
    thread->seen = false;
    return keep_walk(thread, &walk);
}

static bool same_place(const struct waiting_place *a, const struct waiting_place *b) {
    return a->number == b->number && a->sp == b->sp && a->pc == b->pc;
}

// One look at a thread. Between both looks at its schedule lies nothing but what must be of one moment: many waits for
// storage are over after some microseconds.
static enum blocked_state look(struct watcher *watcher, struct blocked_thread *thread, struct waiting_place *place) {
    char before[sizeof thread->scheduled], after[sizeof thread->scheduled], system_call[sizeof thread->system_call];
    struct blocked_threads *threads = &watcher->threads;
    if (!read_schedule(threads, thread, before))
        return BLOCKED_FAILED;
    if (thread->seen && before[0] && strcmp(before, thread->scheduled) == 0)
        return BLOCKED_UNMOVED;
    if (!read_kept(threads, thread, SYSTEM_CALL, system_call, sizeof system_call))
        return BLOCKED_FAILED;
    if (!parse_system_call(system_call, place)) {
        thread->seen = false;
        return BLOCKED_RUNNING;
    }
    remote_window_open(&watcher->window, thread->pid, place->sp);
    if (!read_schedule(threads, thread, after))
        return BLOCKED_FAILED;
    thread->seen = thread->seen && strcmp(before, after) == 0;
    if (strcmp(before, after) != 0)
        return BLOCKED_TORN;
    struct process *process = watch_process(watcher, thread->pid);
    if (!process)
        return BLOCKED_FAILED;
    walk_blocked(process, &watcher->distances, &watcher->window, place->sp, place->pc, &watcher->walk);
    if (refresh_after(watcher, process, &watcher->walk))
        walk_blocked(process, &watcher->distances, &watcher->window, place->sp, place->pc, &watcher->walk);
    if (watcher->window.moved) {
        if (!read_schedule(threads, thread, after))
            return BLOCKED_FAILED;
        if (strcmp(before, after) != 0) {
            thread->seen = false;
            return BLOCKED_TORN;
        }
    }
    bool unmoved = thread->seen && !before[0] && strcmp(system_call, thread->system_call) == 0 &&
                   same_walk(thread, &watcher->walk);
    if (!unmoved && !keep_walk(thread, &watcher->walk))
        return BLOCKED_FAILED;
    thread->number = place->number;
    thread->seen = true;
    memcpy(thread->scheduled, before, sizeof before);
    memcpy(thread->system_call, system_call, sizeof system_call);
    return unmoved ? BLOCKED_UNMOVED : BLOCKED_MOVED;
}

// Of a thread that went on while it was looked at: it did wait, and where is known. Its callers are those of another
// wait at the same place, which soon follows where waits are short.
static enum blocked_state look_again(struct watcher *watcher, struct blocked_thread *thread,
                                     const struct waiting_place *place) {
    enum { LONGEST_NS = 50000 };
    for (uint64_t began = monotonic_ns(); monotonic_ns() - began < LONGEST_NS;) {
        struct waiting_place now;
        enum blocked_state state = look(watcher, thread, &now);
        if (state == BLOCKED_FAILED || (state == BLOCKED_MOVED && same_place(place, &now)))
            return state;
        if (state == BLOCKED_MOVED)
            break;
    }
    return keep_place(thread, place) ? BLOCKED_MOVED : BLOCKED_FAILED;
}

enum blocked_state watch_thread(struct watcher *watcher, pid_t pid, pid_t tid, const struct blocked_thread **thread) {
    struct blocked_thread **link = thread_link(&watcher->threads, pid, tid);
    if (!*link) {
        *link = calloc(1, sizeof **link);
        if (!*link)
            return BLOCKED_FAILED;
        (*link)->pid = pid;
        (*link)->tid = tid;
        for (unsigned which = 0; which < THREAD_FILES; which++)
            (*link)->files[which] = -1;
    }
    struct waiting_place place;
    enum blocked_state state = look(watcher, *link, &place);
    if (state == BLOCKED_TORN)
        state = look_again(watcher, *link, &place);
    *thread = *link;
    if (state == BLOCKED_FAILED) {
        int error = is_gone(errno) ? ESRCH : errno;
        drop_thread(&watcher->threads, link);
        errno = error;
    }
    return state;
}

void watcher_forget(struct watcher *watcher, pid_t pid) {
    forget_process(watcher, pid);
    for (unsigned bucket = 0; bucket < THREAD_BUCKETS; bucket++)
        for (struct blocked_thread **link = &watcher->threads.buckets[bucket]; *link;) {
            if ((*link)->pid == pid)
                drop_thread(&watcher->threads, link);
            else
                link = &(*link)->next;
        }
}

void watcher_clear(struct watcher *watcher) {
    while (watcher->processes)
        watcher_forget(watcher, watcher->processes->pid);
    for (unsigned bucket = 0; bucket < THREAD_BUCKETS; bucket++)
        while (watcher->threads.buckets[bucket])
            drop_thread(&watcher->threads, &watcher->threads.buckets[bucket]);
    table_store_clear(&watcher->tables);
    free(watcher->tables.folder);
}
