// Every way to start a program: the new one gets our variables if it can carry us, and none of them if it cannot.
//
// These run in the child of vfork too, on the parent's memory: they use the stack and change nothing.
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "interposed/syscall.h"
#include "sampler/sampler.h"

DECLARE_NEXT(execvpe);
DECLARE_NEXT(posix_spawn);
DECLARE_NEXT(posix_spawnp);
DECLARE_NEXT(system);
DECLARE_NEXT(popen);

// A larger environment than this would be a risk to the caller's stack.
enum { LARGEST_ON_STACK = 2 * 1024 };

// An environment with our variables in memory of its own. It outlives its use: whoever is in the middle of reading it
// (a child of vfork, another thread) is not to be known. `filled` is what `entries` held at first.
enum { KEPT_ENVIRONMENTS = 64 };
struct kept_environment {
    size_t bytes, count;
    char **before;
    char **filled;
    char *preload; // the entry of `before` that ours stands for; NULL: none
    char *entries[];
};
struct kept_environments {
    _Atomic(struct kept_environment *) kept[KEPT_ENVIRONMENTS];
    _Atomic uint32_t next;
};
static struct kept_environments given_to_programs, given_to_libc;

static struct kept_environment *keep_environment(struct kept_environments *list, char *const environment[]) {
    struct environment_plan plan = environment_plan(environment);
    size_t bytes = sizeof(struct kept_environment) + 2 * plan.entries * sizeof(char *) + plan.text_bytes;
    struct kept_environment *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    made->bytes = bytes;
    made->count = plan.entries;
    made->before = (char **)environment;
    made->filled = &made->entries[plan.entries];
    made->preload = *plan.preload ? (char *)plan.preload - strlen("LD_PRELOAD=") : NULL;
    environment_fill(plan, environment, made->entries, (char *)&made->filled[plan.entries]);
    memcpy(made->filled, made->entries, plan.entries * sizeof(char *));
    struct kept_environment *oldest =
        atomic_exchange(&list->kept[atomic_fetch_add(&list->next, 1) % KEPT_ENVIRONMENTS], made);
    if (oldest)
        munmap(oldest, oldest->bytes);
    return made;
}

static bool watched(void) {
    return this_process.session && !atomic_load(&this_process.session->stopped);
}

// Where execvp would find the program; `file` itself when that cannot be told.
static const char *search_path(const char *file, char *buffer, size_t size) {
    if (strchr(file, '/'))
        return file;
    const char *path = getenv("PATH");
    if (!path)
        path = "/bin:/usr/bin";
    size_t file_length = strlen(file);
    while (path) {
        size_t length = strcspn(path, ":");
        if (length + file_length + 2 < size) {
            memcpy(buffer, path, length);
            buffer[length] = '/';
            memcpy(buffer + length + (length > 0), file, file_length + 1);
            if (access(length ? buffer : file, X_OK) == 0)
                return length ? buffer : file;
        }
        path = path[length] ? path + length + 1 : NULL;
    }
    return file;
}

// Our handler writes to the same ring: it stays away for that long.
static void record_unfollowed(int reason, const char *name) {
    sig_atomic_t before = this_thread.in_handler;
    this_thread.in_handler = 1;
    atomic_signal_fence(memory_order_seq_cst);
    ring_write_in_signal(WHYPERF_RECORD_UNFOLLOWED, (uint32_t)reason, name, (uint32_t)strnlen(name, 1024 - 1) + 1);
    atomic_signal_fence(memory_order_seq_cst);
    this_thread.in_handler = before;
}

static bool should_follow(int reason, const char *name, char *const environment[]) {
    if (!reason && atomic_load(&this_process.no_system_calls))
        reason = WHYPERF_UNFOLLOWED_SECCOMP;
    if (reason) {
        record_unfollowed(reason, name);
        return false;
    }
    return !environment_names_session(environment);
}

// A child of vfork shares our memory but not our identity: what belongs to the parent's thread is not its to stop.
static bool runs_own_thread(void) {
    return this_thread.slot && !atomic_load(&this_process.no_system_calls) &&
           (pid_t)syscall(SYS_gettid) == this_thread.tid;
}

// Children that share our memory are threads, or are to start a program: those are followed.
static bool makes_process(long number, unsigned long argument) {
    uint64_t flags = argument;
    struct iovec here = {&flags, sizeof flags}, there = {(void *)argument, sizeof flags};
    if (number == SYS_clone3 && syscall(SYS_process_vm_readv, this_process.pid, &here, 1, &there, 1, 0) != sizeof flags)
        return false;
#ifdef SYS_fork
    if (number == SYS_fork)
        return true;
#endif
    return !(flags & CLONE_VM);
}

void whyperf_after_clone(long number, unsigned long argument) {
    // A child that shares our memory may share errno as well: nothing is changed in its presence.
    if (!watched() || !runs_own_thread() || !makes_process(number, argument))
        return;
    int saved_errno = errno;
    char path[1024] = "";
    if (readlink("/proc/self/exe", path, sizeof path - 1) > 0)
        record_unfollowed(WHYPERF_UNFOLLOWED_CLONE, path);
    errno = saved_errno;
}

// A pending event signal would kill the new program, whose handlers are gone; a pending timer signal the kernel drops.
#define WITHOUT_EVENTS(call)                                                                                           \
    ({                                                                                                                 \
        bool paused = this_thread.event_page && runs_own_thread();                                                     \
        if (paused)                                                                                                    \
            timer_stop();                                                                                              \
        long failed = (call);                                                                                          \
        int why = errno;                                                                                               \
        if (paused)                                                                                                    \
            timer_start();                                                                                             \
        errno = why;                                                                                                   \
        (int)failed;                                                                                                   \
    })

// Declares `augmented`, on this function's stack if it is small: `environment` with our variables, or as it is.
#define AUGMENT(environment, follow)                                                                                   \
    char *const *augmented = (environment);                                                                            \
    do {                                                                                                               \
        if (follow) {                                                                                                  \
            struct environment_plan plan = environment_plan(environment);                                              \
            if (plan.entries * sizeof(char *) + plan.text_bytes <= LARGEST_ON_STACK) {                                 \
                char **entries = alloca(plan.entries * sizeof *entries);                                               \
                environment_fill(plan, (environment), entries, alloca(plan.text_bytes));                               \
                augmented = entries;                                                                                   \
            } else {                                                                                                   \
                struct kept_environment *kept = keep_environment(&given_to_programs, environment);                     \
                augmented = kept ? kept->entries : augmented;                                                          \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

EXPORT int execve(const char *path, char *const arguments[], char *const environment[]) {
    bool follow = watched() && should_follow(follow_check_path(path), path, environment);
    AUGMENT(environment, follow);
    return WITHOUT_EVENTS(syscall(SYS_execve, path, arguments, augmented));
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[]) {
    char buffer[1024];
    bool follow = false;
    if (watched()) {
        const char *path = search_path(file, buffer, sizeof buffer);
        follow = should_follow(follow_check_path(path), path, environment);
    }
    AUGMENT(environment, follow);
    return WITHOUT_EVENTS(NEXT(execvpe)(file, arguments, augmented));
}

EXPORT int execveat(int folder, const char *path, char *const arguments[], char *const environment[], int flags) {
    bool follow = false;
    if (watched()) {
        bool by_descriptor = (flags & AT_EMPTY_PATH) && !*path;
        int fd = by_descriptor ? folder
                               : (int)syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0)
            follow = should_follow(follow_check_fd(fd, path), path, environment);
        if (fd >= 0 && !by_descriptor)
            syscall(SYS_close, fd);
    }
    AUGMENT(environment, follow);
    return WITHOUT_EVENTS(syscall(SYS_execveat, folder, path, arguments, augmented, flags));
}

EXPORT int fexecve(int fd, char *const arguments[], char *const environment[]) {
    return execveat(fd, "", arguments, environment, AT_EMPTY_PATH);
}

EXPORT int execv(const char *path, char *const arguments[]) {
    return execve(path, arguments, environ);
}

EXPORT int execvp(const char *file, char *const arguments[]) {
    return execvpe(file, arguments, environ);
}

static size_t count_arguments(const char *first, va_list list) {
    size_t count = 0;
    for (const char *argument = first; argument; argument = va_arg(list, const char *))
        count++;
    return count;
}

// Declares `arguments`, and leaves `list` behind the terminating NULL.
#define COLLECT_ARGUMENTS(first, list)                                                                                 \
    va_list counting;                                                                                                  \
    va_copy(counting, list);                                                                                           \
    size_t count = count_arguments(first, counting);                                                                   \
    va_end(counting);                                                                                                  \
    char **arguments = alloca((count + 1) * sizeof *arguments);                                                        \
    arguments[0] = (char *)(first);                                                                                    \
    for (size_t i = 1; i <= count; i++)                                                                                \
    arguments[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...) {
    va_list list;
    va_start(list, first);
    COLLECT_ARGUMENTS(first, list);
    va_end(list);
    return execve(path, arguments, environ);
}

EXPORT int execlp(const char *file, const char *first, ...) {
    va_list list;
    va_start(list, first);
    COLLECT_ARGUMENTS(first, list);
    va_end(list);
    return execvpe(file, arguments, environ);
}

EXPORT int execle(const char *path, const char *first, ...) {
    va_list list;
    va_start(list, first);
    COLLECT_ARGUMENTS(first, list);
    char **environment = va_arg(list, char **);
    va_end(list);
    return execve(path, arguments, environment);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    bool follow = watched() && should_follow(follow_check_path(path), path, environment);
    AUGMENT(environment, follow);
    return NEXT(posix_spawn)(pid, path, actions, attributes, arguments, augmented);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    char buffer[1024];
    bool follow = false;
    if (watched()) {
        const char *path = search_path(file, buffer, sizeof buffer);
        follow = should_follow(follow_check_path(path), path, environment);
    }
    AUGMENT(environment, follow);
    return NEXT(posix_spawnp)(pid, file, actions, attributes, arguments, augmented);
}

// system() and popen() start their shell inside libc with the process-wide environment: for that long it is ours.
// Other threads may read the array meanwhile, change it (setenv of a variable that is there, unsetenv), or have libc
// copy it to a larger one (setenv of another).
static struct kept_environment *augment_process_environment(void) {
    const char *shell = "/bin/sh";
    char **before = environ;
    if (!watched() || !should_follow(follow_check_path(shell), shell, before))
        return NULL;
    struct kept_environment *ours = keep_environment(&given_to_libc, before);
    if (ours &&
        !__atomic_compare_exchange_n(&environ, &before, ours->entries, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return NULL;
    return ours;
}

// The array that was changed under our hands goes on as the program's, without our two variables at its head.
static char **disown(struct kept_environment *ours) {
    for (int i = 0; i < KEPT_ENVIRONMENTS; i++) {
        struct kept_environment *expected = ours;
        atomic_compare_exchange_strong(&given_to_libc.kept[i], &expected, NULL);
    }
    char **start = ours->entries;
    bool had_preload = *start == ours->filled[0];
    start += had_preload;
    start += *start == ours->filled[1];
    if (had_preload && ours->preload)
        *--start = ours->preload;
    return start;
}

static void remove_from_copy(const struct kept_environment *ours) {
    bool preload = false, session = false;
    for (char **entry = environ; entry && *entry; entry++) {
        preload |= *entry == ours->filled[0];
        session |= *entry == ours->filled[1];
    }
    if (session)
        unsetenv(WHYPERF_ENV_SESSION);
    if (preload && ours->preload)
        setenv("LD_PRELOAD", ours->preload + strlen("LD_PRELOAD="), 1);
    else if (preload)
        unsetenv("LD_PRELOAD");
}

static void restore_process_environment(void *kept) {
    struct kept_environment *ours = kept;
    if (!ours)
        return;
    int saved_errno = errno;
    char **expected = ours->entries;
    if (environ != expected) {
        remove_from_copy(ours);
    } else {
        bool changed = memcmp(ours->entries, ours->filled, ours->count * sizeof(char *)) != 0;
        __atomic_compare_exchange_n(&environ, &expected, changed ? disown(ours) : ours->before, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    }
    errno = saved_errno;
}

// A child forked while another thread was in system().
void environment_after_fork(void) {
    for (int i = 0; i < KEPT_ENVIRONMENTS; i++) {
        struct kept_environment *ours = atomic_load(&given_to_libc.kept[i]);
        if (ours && environ == ours->entries)
            restore_process_environment(ours);
    }
}

EXPORT int system(const char *command) {
    struct kept_environment *ours = command ? augment_process_environment() : NULL;
    int status;
    // A thread may be cancelled while it waits for the shell.
    pthread_cleanup_push(restore_process_environment, ours);
    status = NEXT(system)(command);
    pthread_cleanup_pop(1);
    return status;
}

EXPORT FILE *popen(const char *command, const char *mode) {
    struct kept_environment *ours = augment_process_environment();
    FILE *stream = NEXT(popen)(command, mode);
    restore_process_environment(ours);
    return stream;
}
