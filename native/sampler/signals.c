// Signals: our own must always get through, and the program must not notice that it exists.
//
// Programs block or wait for "all signals"; ours is taken out of such sets and put back into what the program reads.
// A handler that the program installs for our signal is kept and called for every signal that is not our timer's.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/sampler.h"

DECLARE_NEXT(sigaction);
DECLARE_NEXT(signal);
DECLARE_NEXT(sigprocmask);
DECLARE_NEXT(pthread_sigmask);
DECLARE_NEXT(sigwait);
DECLARE_NEXT(sigwaitinfo);
DECLARE_NEXT(sigtimedwait);
DECLARE_NEXT(signalfd);
DECLARE_NEXT(sigaltstack);

static struct sigaction program_action;        // what the program wants done with our signal
static _Atomic bool program_masks_ours[_NSIG]; // its handlers whose mask holds our signal

// Our handler on a program's own small alternate stack needs a signal frame and about a page.
enum { SMALLEST_SHARED_ALTERNATE_STACK = 8 * 1024 };

static bool watched(void) {
    return this_process.session != NULL;
}

bool signals_install_handler(void) {
    struct sigaction action = {.sa_sigaction = sample_in_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    // Faults inside a masked handler would kill without reaching the program's own crash handler.
    sigdelset(&action.sa_mask, SIGSEGV);
    sigdelset(&action.sa_mask, SIGBUS);
    return NEXT(sigaction)(SAMPLER_SIGNAL, &action, &program_action) == 0;
}

void signals_unblock(void) {
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SAMPLER_SIGNAL);
    NEXT(pthread_sigmask)(SIG_UNBLOCK, &ours, &before);
    this_thread.program_blocks_signal = sigismember(&before, SAMPLER_SIGNAL) == 1;
}

void signals_use_alternate_stack(void) {
    stack_t current = {0};
    if (syscall(SYS_sigaltstack, NULL, &current) || !(current.ss_flags & SS_DISABLE))
        return;
    stack_t ours = {.ss_sp = this_thread.memory->stack, .ss_size = ALTERNATE_STACK_BYTES};
    this_thread.program_alternate_stack = current;
    this_thread.own_alternate_stack_active = syscall(SYS_sigaltstack, &ours, NULL) == 0;
}

void signals_leave_alternate_stack(void) {
    if (!this_thread.own_alternate_stack_active)
        return;
    stack_t none = {.ss_flags = SS_DISABLE};
    syscall(SYS_sigaltstack, &none, NULL);
    this_thread.own_alternate_stack_active = false;
}

// A signal of our number that some other sender means for the program.
void signals_forward_in_signal(int signal_number, siginfo_t *info, void *context) {
    if (program_action.sa_flags & SA_SIGINFO) {
        program_action.sa_sigaction(signal_number, info, context);
    } else if (program_action.sa_handler == SIG_DFL) {
        struct sigaction fatal = {.sa_handler = SIG_DFL};
        NEXT(sigaction)(signal_number, &fatal, NULL);
        syscall(SYS_tgkill, this_process.pid, syscall(SYS_gettid), signal_number);
    } else if (program_action.sa_handler != SIG_IGN) {
        program_action.sa_handler(signal_number);
    }
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *previous) {
    if (!watched() || number <= 0 || number >= _NSIG)
        return NEXT(sigaction)(number, action, previous);
    if (number == SAMPLER_SIGNAL) {
        struct sigaction wanted;
        if (action)
            wanted = *action;
        if (previous)
            *previous = program_action;
        if (action)
            program_action = wanted;
        return 0;
    }
    struct sigaction changed;
    bool masks_ours = false;
    if (action) {
        changed = *action;
        masks_ours = sigismember(&changed.sa_mask, SAMPLER_SIGNAL) == 1;
        // On an alternate stack, which may be small, our frame must not come on top of the handler's.
        if (changed.sa_flags & SA_ONSTACK)
            sigaddset(&changed.sa_mask, SAMPLER_SIGNAL);
        else
            sigdelset(&changed.sa_mask, SAMPLER_SIGNAL);
    }
    int result = NEXT(sigaction)(number, action ? &changed : NULL, previous);
    if (result == 0) {
        bool before = action ? atomic_exchange(&program_masks_ours[number], masks_ours)
                             : atomic_load(&program_masks_ours[number]);
        if (previous && before)
            sigaddset(&previous->sa_mask, SAMPLER_SIGNAL);
        else if (previous)
            sigdelset(&previous->sa_mask, SAMPLER_SIGNAL);
    }
    return result;
}

EXPORT __sighandler_t signal(int number, __sighandler_t handler) {
    if (!watched() || number != SAMPLER_SIGNAL)
        return NEXT(signal)(number, handler);
    __sighandler_t previous = program_action.sa_handler;
    program_action = (struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART};
    return previous;
}

// Applies a mask change without our signal, and answers as if it had been applied with it.
static int change_mask(__typeof__(&pthread_sigmask) apply, int how, const sigset_t *set, sigset_t *previous) {
    if (!watched())
        return apply(how, set, previous);
    bool was_blocked = this_thread.program_blocks_signal;
    sigset_t allowed;
    bool has_ours = false;
    if (set) {
        allowed = *set;
        has_ours = sigismember(set, SAMPLER_SIGNAL) == 1;
        if (how != SIG_UNBLOCK)
            sigdelset(&allowed, SAMPLER_SIGNAL);
    }
    int result = apply(how, set ? &allowed : NULL, previous);
    if (result)
        return result;
    if (set && how == SIG_SETMASK)
        this_thread.program_blocks_signal = has_ours;
    else if (set && has_ours)
        this_thread.program_blocks_signal = how == SIG_BLOCK;
    if (previous && was_blocked)
        sigaddset(previous, SAMPLER_SIGNAL);
    return 0;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *previous) {
    return change_mask(NEXT(sigprocmask), how, set, previous);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *previous) {
    return change_mask(NEXT(pthread_sigmask), how, set, previous);
}

static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy) {
    if (!watched() || !set || sigismember(set, SAMPLER_SIGNAL) != 1)
        return set;
    *copy = *set;
    sigdelset(copy, SAMPLER_SIGNAL);
    return copy;
}

EXPORT int sigwait(const sigset_t *set, int *number) {
    sigset_t copy;
    return NEXT(sigwait)(without_ours(set, &copy), number);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info) {
    sigset_t copy;
    return NEXT(sigwaitinfo)(without_ours(set, &copy), info);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout) {
    sigset_t copy;
    return NEXT(sigtimedwait)(without_ours(set, &copy), info, timeout);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags) {
    sigset_t copy;
    return NEXT(signalfd)(fd, without_ours(set, &copy), flags);
}

// The program sees its own alternate stack; one too small for our frame is never given to the kernel, ours stays.
EXPORT int sigaltstack(const stack_t *restrict wanted, stack_t *restrict previous) {
    __typeof__(&sigaltstack) next = NEXT(sigaltstack);
    if (!watched() || !this_thread.own_alternate_stack_active)
        return next(wanted, previous);
    if (!wanted) {
        if (previous)
            *previous = this_thread.program_alternate_stack;
        return 0;
    }
    stack_t shown = this_thread.program_alternate_stack;
    bool keep_ours =
        (wanted->ss_flags & SS_DISABLE) || (wanted->ss_size >= (size_t)MINSIGSTKSZ &&
                                            wanted->ss_size < SMALLEST_SHARED_ALTERNATE_STACK && wanted->ss_flags == 0);
    if (keep_ours) {
        this_thread.program_alternate_stack = *wanted;
    } else {
        int result = next(wanted, NULL);
        if (result)
            return result;
        this_thread.own_alternate_stack_active = false;
    }
    if (previous)
        *previous = shown;
    return 0;
}
