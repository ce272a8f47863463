// Programs block "all signals", and a trap whose signal is blocked ends them: SIGTRAP is taken out of every mask, and
// put back into what the program reads. A handler that the program installs for it is kept, and gets what is not ours.
#include "observation/signals.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "interposed/next.h"
#include "observation/traps.h"

DECLARE_NEXT(sigaction);
DECLARE_NEXT(signal);
DECLARE_NEXT(sigprocmask);
DECLARE_NEXT(pthread_sigmask);
DECLARE_NEXT(sigsuspend);
DECLARE_NEXT(ppoll);
DECLARE_NEXT(__ppoll_chk);
DECLARE_NEXT(pselect);
DECLARE_NEXT(epoll_pwait);
DECLARE_NEXT(epoll_pwait2);
DECLARE_NEXT(sigset);
DECLARE_NEXT(sighold);
DECLARE_NEXT(sigrelse);
DECLARE_NEXT(sigignore);
DECLARE_NEXT(setcontext);
DECLARE_NEXT(swapcontext);

static _Atomic bool taken;
static struct sigaction program_action;
static _Atomic bool masked_by_program[_NSIG]; // its handlers whose mask holds SIGTRAP
static __thread bool program_blocks __attribute__((tls_model("initial-exec")));

enum { KERNEL_MASK_BYTES = 8 };

// What ppoll() becomes with _FORTIFY_SOURCE, and what older C libraries do not have.
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *set, size_t bytes);
int epoll_pwait2(int fd, struct epoll_event *events, int count, const struct timespec *timeout, const sigset_t *set);

static void forward(int number, siginfo_t *info, void *context) {
    struct sigaction action = program_action;
    bool is_handler = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    if (is_handler && action.sa_flags & SA_SIGINFO) {
        action.sa_sigaction(number, info, context);
    } else if (is_handler) {
        action.sa_handler(number);
    } else if (action.sa_handler == SIG_DFL || info->si_code > 0) { // a trap cannot be ignored
        struct sigaction fatal = {.sa_handler = SIG_DFL};
        NEXT(sigaction)(number, &fatal, NULL);
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
    }
}

// Not a single step, a watched address or a signal that was sent: those may come anywhere, also right behind a trap.
static bool is_of_instruction(const siginfo_t *info) {
    return info->si_code == SI_KERNEL || info->si_code == TRAP_BRKPT;
}

static void on_trap(int number, siginfo_t *info, void *context) {
    if (!is_of_instruction(info) || !trap_handled(context))
        forward(number, info, context);
}

static void unblock(void) {
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &trap, NULL, KERNEL_MASK_BYTES);
}

bool signals_take_trap(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    // Faults inside a masked handler would kill without reaching the program's own crash handler.
    for (const int *one = (const int[]){SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, 0}; *one; one++)
        sigdelset(&action.sa_mask, *one);
    if (NEXT(sigaction)(SIGTRAP, &action, &program_action) != 0)
        return false;
    sigset_t before;
    NEXT(pthread_sigmask)(SIG_BLOCK, NULL, &before);
    program_blocks = sigismember(&before, SIGTRAP) == 1;
    unblock();
    atomic_store(&taken, true);
    return true;
}

// Its creator blocked everything while it made the thread (native/probes/threads.c).
void signals_begin_thread(void) {
    program_blocks = true;
    unblock();
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *previous) {
    if (!atomic_load(&taken) || number <= 0 || number >= _NSIG)
        return NEXT(sigaction)(number, action, previous);
    if (number == SIGTRAP) {
        struct sigaction wanted = action ? *action : program_action;
        if (previous)
            *previous = program_action;
        program_action = wanted;
        return 0;
    }
    struct sigaction changed;
    bool masks = false;
    if (action) {
        changed = *action;
        masks = sigismember(&changed.sa_mask, SIGTRAP) == 1;
        sigdelset(&changed.sa_mask, SIGTRAP);
    }
    int result = NEXT(sigaction)(number, action ? &changed : NULL, previous);
    if (result == 0) {
        _Atomic bool *kept = &masked_by_program[number];
        bool before = action ? atomic_exchange(kept, masks) : atomic_load(kept);
        if (previous && before)
            sigaddset(&previous->sa_mask, SIGTRAP);
    }
    return result;
}

EXPORT __sighandler_t signal(int number, __sighandler_t handler) {
    if (!atomic_load(&taken) || number != SIGTRAP)
        return NEXT(signal)(number, handler);
    __sighandler_t previous = program_action.sa_handler;
    program_action = (struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART};
    return previous;
}

static int change_mask(__typeof__(&pthread_sigmask) apply, int how, const sigset_t *set, sigset_t *previous) {
    if (!atomic_load(&taken))
        return apply(how, set, previous);
    bool was_blocked = program_blocks, has_trap = set && sigismember(set, SIGTRAP) == 1;
    sigset_t allowed;
    if (set) {
        allowed = *set;
        sigdelset(&allowed, SIGTRAP);
    }
    int result = apply(how, set ? &allowed : NULL, previous);
    if (result)
        return result;
    if (set && how == SIG_SETMASK)
        program_blocks = has_trap;
    else if (has_trap)
        program_blocks = how == SIG_BLOCK;
    if (previous && was_blocked)
        sigaddset(previous, SIGTRAP);
    return 0;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *previous) {
    return change_mask(NEXT(sigprocmask), how, set, previous);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *previous) {
    return change_mask(NEXT(pthread_sigmask), how, set, previous);
}

// Older calls, by which libc changes masks and handlers without those above.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
enum { OLD_MASK_BITS = 32 };

static int change_old_mask(int how, int bits) {
    sigset_t set, previous;
    sigemptyset(&set);
    for (int number = 1; number <= OLD_MASK_BITS; number++)
        if ((unsigned)bits >> (number - 1) & 1)
            sigaddset(&set, number);
    if (change_mask(NEXT(sigprocmask), how, &set, &previous) != 0)
        return -1;
    unsigned before = 0;
    for (int number = 1; number <= OLD_MASK_BITS; number++)
        before |= (unsigned)(sigismember(&previous, number) == 1) << (number - 1);
    return (int)before;
}

EXPORT int sigblock(int bits) {
    return change_old_mask(SIG_BLOCK, bits);
}

EXPORT int sigsetmask(int bits) {
    return change_old_mask(SIG_SETMASK, bits);
}

EXPORT int sighold(int number) {
    if (!atomic_load(&taken) || number != SIGTRAP)
        return NEXT(sighold)(number);
    program_blocks = true;
    return 0;
}

EXPORT int sigrelse(int number) {
    if (!atomic_load(&taken) || number != SIGTRAP)
        return NEXT(sigrelse)(number);
    program_blocks = false;
    return 0;
}

EXPORT int sigignore(int number) {
    if (!atomic_load(&taken) || number != SIGTRAP)
        return NEXT(sigignore)(number);
    program_action = (struct sigaction){.sa_handler = SIG_IGN};
    return 0;
}

EXPORT __sighandler_t sigset(int number, __sighandler_t handler) {
    if (!atomic_load(&taken) || number != SIGTRAP)
        return NEXT(sigset)(number, handler);
    __sighandler_t previous = program_blocks ? SIG_HOLD : program_action.sa_handler;
    program_blocks = handler == SIG_HOLD;
    if (!program_blocks)
        program_action = (struct sigaction){.sa_handler = handler};
    return previous;
}

#pragma GCC diagnostic pop

// A context that was made rather than saved has any mask.
static const ucontext_t *letting_traps_through(const ucontext_t *context) {
    if (atomic_load(&taken) && sigismember(&context->uc_sigmask, SIGTRAP) == 1)
        sigdelset(&((ucontext_t *)context)->uc_sigmask, SIGTRAP);
    return context;
}

EXPORT int setcontext(const ucontext_t *context) {
    return NEXT(setcontext)(letting_traps_through(context));
}

EXPORT int swapcontext(ucontext_t *saved, const ucontext_t *context) {
    return NEXT(swapcontext)(saved, letting_traps_through(context));
}

// Handlers that run while a thread waits do so with the mask that it waits with.
static const sigset_t *without_trap(const sigset_t *set, sigset_t *copy) {
    if (!set || !atomic_load(&taken))
        return set;
    *copy = *set;
    sigdelset(copy, SIGTRAP);
    return copy;
}

EXPORT int sigsuspend(const sigset_t *set) {
    sigset_t copy;
    return NEXT(sigsuspend)(without_trap(set, &copy));
}

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *set) {
    sigset_t copy;
    return NEXT(ppoll)(files, count, timeout, without_trap(set, &copy));
}

EXPORT int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *set,
                       size_t bytes) {
    sigset_t copy;
    return NEXT(__ppoll_chk)(files, count, timeout, without_trap(set, &copy), bytes);
}

EXPORT int pselect(int count, fd_set *read, fd_set *write, fd_set *except, const struct timespec *timeout,
                   const sigset_t *set) {
    sigset_t copy;
    return NEXT(pselect)(count, read, write, except, timeout, without_trap(set, &copy));
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout, const sigset_t *set) {
    sigset_t copy;
    return NEXT(epoll_pwait)(fd, events, count, timeout, without_trap(set, &copy));
}

EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int count, const struct timespec *timeout,
                        const sigset_t *set) {
    sigset_t copy;
    if (NEXT(epoll_pwait2))
        return NEXT(epoll_pwait2)(fd, events, count, timeout, without_trap(set, &copy));
    errno = ENOSYS;
    return -1;
}
