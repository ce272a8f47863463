// Programs that sandbox themselves: from that moment on we make no system call.
//
// Returning from a signal handler is one, too. A filter is therefore run on it before it is installed; if it would not
// let rt_sigreturn pass, sampling of this process ends first.
#include <errno.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposed/syscall.h"
#include "machine/machine.h"
#include "sampler/sampler.h"

DECLARE_NEXT(prctl);

// Classic BPF as seccomp allows it. Anything unexpected counts as "kill": we then stop sampling, which is safe.
static uint32_t run_filter(const struct sock_fprog *program, const struct seccomp_data *data) {
    uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {0};
    for (uint32_t pc = 0; pc < program->len; pc++) {
        const struct sock_filter *at = &program->filter[pc];
        uint32_t operand = BPF_SRC(at->code) == BPF_X ? x : at->k;
        switch (BPF_CLASS(at->code)) {
        case BPF_LD:
            if (BPF_MODE(at->code) == BPF_ABS && at->k <= sizeof *data - sizeof a)
                memcpy(&a, (const char *)data + at->k, sizeof a);
            else if (BPF_MODE(at->code) == BPF_IMM)
                a = at->k;
            else if (BPF_MODE(at->code) == BPF_MEM && at->k < BPF_MEMWORDS)
                a = memory[at->k];
            else if (BPF_MODE(at->code) == BPF_LEN)
                a = sizeof *data;
            else
                return SECCOMP_RET_KILL_PROCESS;
            break;
        case BPF_LDX:
            if (BPF_MODE(at->code) == BPF_IMM)
                x = at->k;
            else if (BPF_MODE(at->code) == BPF_MEM && at->k < BPF_MEMWORDS)
                x = memory[at->k];
            else if (BPF_MODE(at->code) == BPF_LEN)
                x = sizeof *data;
            else
                return SECCOMP_RET_KILL_PROCESS;
            break;
        case BPF_ST:
        case BPF_STX:
            if (at->k >= BPF_MEMWORDS)
                return SECCOMP_RET_KILL_PROCESS;
            memory[at->k] = BPF_CLASS(at->code) == BPF_ST ? a : x;
            break;
        case BPF_ALU:
            switch (BPF_OP(at->code)) {
            case BPF_ADD:
                a += operand;
                break;
            case BPF_SUB:
                a -= operand;
                break;
            case BPF_MUL:
                a *= operand;
                break;
            case BPF_DIV:
                if (!operand)
                    return SECCOMP_RET_KILL_PROCESS;
                a /= operand;
                break;
            case BPF_AND:
                a &= operand;
                break;
            case BPF_OR:
                a |= operand;
                break;
            case BPF_XOR:
                a ^= operand;
                break;
            case BPF_LSH:
                a = operand < 32 ? a << operand : 0;
                break;
            case BPF_RSH:
                a = operand < 32 ? a >> operand : 0;
                break;
            case BPF_NEG:
                a = -a;
                break;
            default:
                return SECCOMP_RET_KILL_PROCESS;
            }
            break;
        case BPF_JMP: {
            bool taken;
            switch (BPF_OP(at->code)) {
            case BPF_JA:
                pc += at->k;
                continue;
            case BPF_JEQ:
                taken = a == operand;
                break;
            case BPF_JGT:
                taken = a > operand;
                break;
            case BPF_JGE:
                taken = a >= operand;
                break;
            case BPF_JSET:
                taken = (a & operand) != 0;
                break;
            default:
                return SECCOMP_RET_KILL_PROCESS;
            }
            pc += taken ? at->jt : at->jf;
            break;
        }
        case BPF_RET:
            return BPF_RVAL(at->code) == BPF_A ? a : at->k;
        case BPF_MISC:
            if (BPF_MISCOP(at->code) == BPF_TAX)
                x = a;
            else
                a = x;
            break;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}

static bool lets_handlers_return(const struct sock_fprog *program) {
    if (!program || !program->filter)
        return true; // the kernel will refuse it
    struct seccomp_data data = {.nr = SYS_rt_sigreturn, .arch = MACHINE_AUDIT_ARCH};
    uint32_t action = run_filter(program, &data) & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

// Returns what `no_system_calls` was, for the case that the filter is refused.
static bool prepare(bool strict, bool handlers_can_return) {
    bool before = atomic_load(&this_process.no_system_calls);
    if (!before)
        clock_freeze(!strict);
    if (!before && !handlers_can_return) {
        timers_stop_all();
        this_thread.timer = -1;
        this_thread.event_page = NULL;
        atomic_store(&this_process.sampling_forbidden, true);
    }
    atomic_store(&this_process.no_system_calls, true);
    // Other threads may get the filter too (TSYNC): their handlers must not be in the middle of a system call.
    if (!before)
        modules_wait_for_readers();
    return before;
}

static long settle(long result, bool before) {
    int saved_errno = errno;
    if (result != 0) {
        atomic_store(&this_process.no_system_calls, before);
        if (!before)
            clock_thaw();
        if (!before && atomic_exchange(&this_process.sampling_forbidden, false))
            timer_start();
    }
    errno = saved_errno;
    return result;
}

EXPORT int prctl(int option, ...) {
    unsigned long arguments[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    __typeof__(&prctl) next = NEXT(prctl);
    if (this_process.session && option == PR_SET_TSC && (unsigned)arguments[0] == PR_TSC_SIGSEGV)
        clock_freeze(false);
    if (!this_process.session || option != PR_SET_SECCOMP)
        return next(option, arguments[0], arguments[1], arguments[2], arguments[3]);
    bool strict = (unsigned)arguments[0] == SECCOMP_MODE_STRICT;
    bool before = prepare(strict, strict || lets_handlers_return((const struct sock_fprog *)arguments[1]));
    return (int)settle(next(option, arguments[0], arguments[1], arguments[2], arguments[3]), before);
}

long whyperf_seccomp(long operation, long flags, void *arguments) {
    bool installs =
        this_process.session && (operation == SECCOMP_SET_MODE_FILTER || operation == SECCOMP_SET_MODE_STRICT);
    bool before = false;
    bool strict = operation == SECCOMP_SET_MODE_STRICT;
    if (installs)
        before = prepare(strict, strict || lets_handlers_return(arguments));
    long raw = machine_system_call3(SYS_seccomp, operation, flags, (long)arguments);
    if (raw < 0 && raw > -4096) {
        errno = (int)-raw;
        raw = -1;
    }
    // With SECCOMP_FILTER_FLAG_NEW_LISTENER success is a descriptor.
    return installs && raw < 0 ? settle(raw, before) : raw;
}
