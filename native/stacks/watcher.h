// What was last seen of each blocked thread, so that one that sleeps on costs a single small read.
#ifndef WHYPERF_WATCHER_H
#define WHYPERF_WATCHER_H

#include "stacks/remote.h"
#include "stacks/walk.h"

enum { THREAD_BUCKETS = 1024 };

// Files of a thread that every look reads.
enum thread_file { SCHEDULE, SYSTEM_CALL, THREAD_FILES };

// Where a thread waits: a system call, -1 outside of any (in a page fault).
struct waiting_place {
    int64_t number;
    uint64_t sp, pc;
};

struct blocked_thread {
    pid_t pid, tid;
    int files[THREAD_FILES]; // descriptors, or -1
    char scheduled[64];      // what that said when the stack was read: it changes whenever the thread runs
    char system_call[192];
    bool seen; // the fields below hold
    int64_t number;
    uint32_t depth;
    int cut;
    uint64_t *pcs;
    struct blocked_thread *next;
};

struct blocked_threads {
    struct blocked_thread *buckets[THREAD_BUCKETS];
    unsigned descriptors;
};

enum blocked_state {
    BLOCKED_RUNNING,
    BLOCKED_MOVED,
    BLOCKED_UNMOVED,
    BLOCKED_TORN, // it went on while its stack was read; watch_thread never returns this
    BLOCKED_FAILED,
};

// Everything that walking from outside needs.
struct watcher {
    struct table_store tables;
    struct process *processes;
    struct blocked_threads threads;
    struct frame_distances distances;
    struct remote_window window;
    struct walk walk;
};

// Looks at a thread; *thread then tells its stack, unless it runs. On failure errno says why.
enum blocked_state watch_thread(struct watcher *watcher, pid_t pid, pid_t tid, const struct blocked_thread **thread);

// The process, with its mappings read at least once; NULL with errno.
struct process *watch_process(struct watcher *watcher, pid_t pid);
// Reads mappings again after a walk that was cut for want of a module. True if the walk is worth repeating.
bool refresh_after(struct watcher *watcher, struct process *process, const struct walk *walk);

void watcher_forget(struct watcher *watcher, pid_t pid);
void watcher_clear(struct watcher *watcher);

#endif
