// Signals: our own must always get through, and the program must not notice that it exists.
//
// Programs block or wait for "all signals"; ours is taken out of such sets and put back into what the program reads.
// A handler that the program installs for our signal is kept and called for every signal that is not our timer's.
// SIGIO, as which the kernel sends an event's signal that finds no room in the queue, ends programs that have no
// handler for it: there ours takes it.
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

// Our handler on a program's own alternate stack needs a signal frame (4 KiB with AVX-512) and, when it makes an unwind
// table, two pages. The kernel takes alternate stacks from 2 KiB on, whatever MINSIGSTKSZ says.
enum { SMALLEST_SHARED_ALTERNATE_STACK = 16 * 1024, SMALLEST_ALTERNATE_STACK = 2048 };

static bool watched(void) {
    return this_process.session != NULL;
}

static struct sigaction our_action(int restart) {
    struct sigaction action = {.sa_sigaction = sample_in_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | restart};
    // Not sigfillset(): that leaves out the signal by which libc cancels threads, and such a thread would end right
    // here.
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    // Faults inside a masked handler would kill without reaching the program's own crash handler.
    sigdelset(&action.sa_mask, SIGSEGV);
    sigdelset(&action.sa_mask, SIGBUS);
    return action;
}

static bool install_handler(int number, int restart, struct sigaction *previous) {
    struct sigaction action = our_action(restart);
    return NEXT(sigaction)(number, &action, previous) == 0;
}

// Whether an event's signal that cannot be queued would end the program.
static bool would_end(int number, const struct sigaction *action) {
    bool use_events = this_process.session->use_perf_events || this_process.session->fault_interval;
    return use_events && number == SIGIO && action->sa_handler == SIG_DFL;
}

bool signals_install_handler(void) {
    struct sigaction io;
    if (NEXT(sigaction)(SIGIO, NULL, &io) == 0 && would_end(SIGIO, &io))
        install_handler(SIGIO, SA_RESTART, NULL);
    return install_handler(SAMPLER_SIGNAL, SA_RESTART, &program_action);
}

// The program's own use of our number. Its handler may be there to interrupt system calls: ours must then not have them
// restarted (our own signals do not come while a thread is blocked).
static void set_program_action(const struct sigaction *action) {
    program_action = *action;
    bool handler = action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
    install_handler(SAMPLER_SIGNAL, handler ? action->sa_flags & SA_RESTART : SA_RESTART, NULL);
}

void signals_unblock(bool program_blocks) {
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SAMPLER_SIGNAL);
    NEXT(pthread_sigmask)(SIG_BLOCK, NULL, &before);
    bool blocked = sigismember(&before, SAMPLER_SIGNAL) == 1;
    // Known before the first signal comes: a pending one may not be ours.
    this_thread.program_blocks_signal = program_blocks || blocked;
    if (blocked)
        NEXT(pthread_sigmask)(SIG_UNBLOCK, &ours, NULL);
}

// Where the program has our signal blocked, a new thread starts so, until it can tell whom a signal is for.
bool signals_block_for_new_thread(void) {
    if (!this_thread.program_blocks_signal || atomic_load(&this_process.no_system_calls))
        return false;
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SAMPLER_SIGNAL);
    return NEXT(pthread_sigmask)(SIG_BLOCK, &ours, &before) == 0 && sigismember(&before, SAMPLER_SIGNAL) != 1;
}

void signals_unblock_after_new_thread(bool blocked) {
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SAMPLER_SIGNAL);
    if (blocked)
        NEXT(pthread_sigmask)(SIG_UNBLOCK, &ours, NULL);
}

void signals_use_alternate_stack(void) {
    stack_t current = {0};
    if (syscall(SYS_sigaltstack, NULL, &current) || !(current.ss_flags & SS_DISABLE))
        return;
    stack_t ours = {.ss_sp = this_thread.memory->stack, .ss_size = ALTERNATE_STACK_BYTES};
    this_thread.program_alternate_stack = current;
    this_thread.own_alternate_stack_active = syscall(SYS_sigaltstack, &ours, NULL) == 0;
}

bool signals_leave_alternate_stack(void) {
    if (!this_thread.own_alternate_stack_active)
        return true;
    stack_t none = {.ss_flags = SS_DISABLE};
    this_thread.own_alternate_stack_active = false;
    return syscall(SYS_sigaltstack, &none, NULL) == 0;
}

enum { KERNEL_MASK_BYTES = 8 };

// What the program believes to have blocked stays pending, for later or for sigwait(): from now on it is blocked
// indeed, and this thread no longer sampled.
static void keep_pending_in_signal(int signal_number, siginfo_t *info, ucontext_t *context) {
    timer_stop();
    sigaddset(&context->uc_sigmask, signal_number);
    if (info->si_code == SI_TKILL)
        syscall(SYS_rt_tgsigqueueinfo, this_process.pid, syscall(SYS_gettid), signal_number, info);
    else if (syscall(SYS_rt_sigqueueinfo, this_process.pid, signal_number, info))
        syscall(SYS_kill, this_process.pid, signal_number); // as another thread may not pass on who sent it by kill()
}

// The mask under which the program's handler would have run without us.
static void set_mask_in_signal(const struct sigaction *action, int signal_number, const ucontext_t *context) {
    sigset_t mask;
    sigorset(&mask, &context->uc_sigmask, &action->sa_mask);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, signal_number);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_MASK_BYTES);
}

static void end_by_in_signal(int signal_number) {
    struct sigaction fatal = {.sa_handler = SIG_DFL};
    NEXT(sigaction)(signal_number, &fatal, NULL);
    syscall(SYS_tgkill, this_process.pid, syscall(SYS_gettid), signal_number);
}

// A signal of our numbers that some other sender means for the program.
void signals_forward_in_signal(int signal_number, siginfo_t *info, void *context) {
    if (signal_number != SAMPLER_SIGNAL) {
        end_by_in_signal(signal_number);
        return;
    }
    struct sigaction action = program_action;
    bool system_calls = !atomic_load(&this_process.no_system_calls);
    if (system_calls && this_thread.program_blocks_signal && action.sa_handler != SIG_IGN) {
        keep_pending_in_signal(signal_number, info, context);
        return;
    }
    bool handler = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    if (handler && (action.sa_flags & SA_RESETHAND))
        program_action.sa_handler = SIG_DFL;
    if (handler && system_calls)
        set_mask_in_signal(&action, signal_number, context);
    if (handler && (action.sa_flags & SA_SIGINFO)) {
        action.sa_sigaction(signal_number, info, context);
    } else if (action.sa_handler == SIG_DFL) {
        end_by_in_signal(signal_number);
    } else if (handler) {
        action.sa_handler(signal_number);
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
            set_program_action(&wanted);
        return 0;
    }
    struct sigaction changed;
    bool masks_ours = false;
    if (action) {
        changed = would_end(number, action) ? our_action(SA_RESTART) : *action;
        masks_ours = sigismember(&action->sa_mask, SAMPLER_SIGNAL) == 1;
        // On an alternate stack, which may be small, our frame must not come on top of the handler's.
        if (changed.sa_flags & SA_ONSTACK)
            sigaddset(&changed.sa_mask, SAMPLER_SIGNAL);
        else
            sigdelset(&changed.sa_mask, SAMPLER_SIGNAL);
    }
    int result = NEXT(sigaction)(number, action ? &changed : NULL, previous);
    if (result == 0) {
        if (previous && previous->sa_sigaction == sample_in_signal)
            memset(previous, 0, sizeof *previous);
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
    if (!watched() || handler == SIG_ERR || (number != SAMPLER_SIGNAL && number != SIGIO))
        return NEXT(signal)(number, handler);
    struct sigaction previous, action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaddset(&action.sa_mask, number);
    return sigaction(number, &action, &previous) == 0 ? previous.sa_handler : SIG_ERR;
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

// Waiting for signals: one of ours that was pending is not what the program waits for.
static bool is_ours(int number, const siginfo_t *info) {
    return watched() && (number == SAMPLER_SIGNAL || number == SIGIO) && is_sampling_signal_in_signal(info);
}

static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy) {
    if (!watched() || !set || sigismember(set, SAMPLER_SIGNAL) != 1)
        return set;
    *copy = *set;
    sigdelset(copy, SAMPLER_SIGNAL);
    return copy;
}

EXPORT int sigwait(const sigset_t *set, int *number) {
    if (!watched() || sigismember(set, SAMPLER_SIGNAL) != 1)
        return NEXT(sigwait)(set, number);
    int saved_errno = errno, got;
    do
        got = sigwaitinfo(set, NULL);
    while (got < 0 && errno == EINTR);
    int error = got < 0 ? errno : 0;
    errno = saved_errno;
    if (!error)
        *number = got;
    return error;
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info) {
    siginfo_t own;
    siginfo_t *got = info ? info : &own;
    int number;
    do
        number = NEXT(sigwaitinfo)(set, got);
    while (is_ours(number, got));
    return number;
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout) {
    siginfo_t own;
    siginfo_t *got = info ? info : &own;
    int number;
    do
        number = NEXT(sigtimedwait)(set, got, timeout);
    while (is_ours(number, got));
    return number;
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
        (wanted->ss_flags & SS_DISABLE) || (wanted->ss_size >= SMALLEST_ALTERNATE_STACK &&
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
