// Every way to start a program: the new one gets our variables if it can carry us, and none of them if it cannot.
//
// These run in the child of vfork too, on the parent's memory: they use the stack and change nothing.
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/sampler.h"

DECLARE_NEXT(execvpe);
DECLARE_NEXT(posix_spawn);
DECLARE_NEXT(posix_spawnp);
DECLARE_NEXT(system);
DECLARE_NEXT(popen);

// A larger environment than this would be a risk to the caller's stack.
enum { LARGEST_ENVIRONMENT = 32 * 1024 };

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

static bool should_follow(int reason, const char *name, char *const environment[]) {
    if (!reason && atomic_load(&this_process.no_system_calls))
        reason = WHYPERF_UNFOLLOWED_SECCOMP;
    if (reason) {
        ring_write_in_signal(WHYPERF_RECORD_UNFOLLOWED, (uint32_t)reason, name, (uint32_t)strnlen(name, 1024 - 1) + 1);
        return false;
    }
    return !environment_names_session(environment);
}

// A child of vfork shares our memory but not our identity: what belongs to the parent's thread is not its to stop.
static bool runs_own_thread(void) {
    return this_thread.slot && !atomic_load(&this_process.no_system_calls) &&
           (pid_t)syscall(SYS_gettid) == this_thread.tid;
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

// Declares `augmented` on this function's stack: `environment` with our variables, or as it is.
#define AUGMENT(environment, follow)                                                                                   \
    char *const *augmented = (environment);                                                                            \
    do {                                                                                                               \
        if (follow) {                                                                                                  \
            struct environment_plan plan = environment_plan(environment);                                              \
            if (plan.entries < LARGEST_ENVIRONMENT) {                                                                  \
                char **entries = alloca(plan.entries * sizeof *entries);                                               \
                environment_fill(plan, (environment), entries, alloca(plan.text_bytes));                               \
                augmented = entries;                                                                                   \
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
        int fd = by_descriptor ? folder : openat(folder, path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            follow = should_follow(follow_check_fd(fd, path), path, environment);
        if (fd >= 0 && !by_descriptor)
            close(fd);
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
// Another thread may be reading the array, so it outlives the call; one that replaces it meanwhile (setenv) wins.
enum { KEPT_ENVIRONMENTS = 16 };
struct kept_environment {
    size_t bytes;
    char *entries[];
};

static struct kept_environment *keep_environment(char *const environment[]) {
    static _Atomic(struct kept_environment *) kept[KEPT_ENVIRONMENTS];
    static _Atomic uint32_t next;
    struct environment_plan plan = environment_plan(environment);
    size_t bytes = sizeof(struct kept_environment) + plan.entries * sizeof(char *) + plan.text_bytes;
    struct kept_environment *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    made->bytes = bytes;
    environment_fill(plan, environment, made->entries, (char *)&made->entries[plan.entries]);
    struct kept_environment *oldest = atomic_exchange(&kept[atomic_fetch_add(&next, 1) % KEPT_ENVIRONMENTS], made);
    if (oldest)
        munmap(oldest, oldest->bytes);
    return made;
}

static struct kept_environment *augment_process_environment(char **before) {
    const char *shell = "/bin/sh";
    if (!watched() || !should_follow(follow_check_path(shell), shell, before))
        return NULL;
    struct kept_environment *ours = keep_environment(before);
    if (ours &&
        !__atomic_compare_exchange_n(&environ, &before, ours->entries, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return NULL;
    return ours;
}

static void restore_process_environment(struct kept_environment *ours, char **before) {
    char **expected = ours ? ours->entries : NULL;
    if (ours)
        __atomic_compare_exchange_n(&environ, &expected, before, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

EXPORT int system(const char *command) {
    char **before = environ;
    struct kept_environment *ours = command ? augment_process_environment(before) : NULL;
    int status = NEXT(system)(command);
    restore_process_environment(ours, before);
    return status;
}

EXPORT FILE *popen(const char *command, const char *mode) {
    char **before = environ;
    struct kept_environment *ours = augment_process_environment(before);
    FILE *stream = NEXT(popen)(command, mode);
    int saved_errno = errno;
    restore_process_environment(ours, before);
    errno = saved_errno;
    return stream;
}
