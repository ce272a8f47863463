// System calls by what they are about.
#ifndef WHYPERF_TRACER_SYSCALLS_H
#define WHYPERF_TRACER_SYSCALLS_H

#include "bpf/files.h"
#include "bpf/maps.h"

#include <asm/unistd_64.h>

enum { SYSTEM_CALLS = 512 };

enum call_class {
    CALL_OTHER,
    CALL_INERT,      // neither blocks nor transfers anything
    CALL_DESCRIPTOR, // the first argument is one
    CALL_TRANSFER,   // as well, and the result is a length
    CALL_POLL,
    CALL_SELECT,
    CALL_EPOLL_CTL,
    CALL_FUTEX,
    CALL_FCNTL,
    CALL_FLOCK,
    CALL_SEMAPHORES,
    CALL_QUEUE,
    CALL_SHARED_MEMORY,
    CALL_MAP, // memory that may be executable
};

// SysV objects are named by ids; these stand where inodes have their file type.
enum { SEMAPHORES_TYPE = 1, QUEUE_TYPE = 2, SHARED_MEMORY_TYPE = 3 };

static const volatile u8 CALLS[SYSTEM_CALLS] = {
    [__NR_read] = CALL_TRANSFER,
    [__NR_write] = CALL_TRANSFER,
    [__NR_pread64] = CALL_TRANSFER,
    [__NR_pwrite64] = CALL_TRANSFER,
    [__NR_readv] = CALL_TRANSFER,
    [__NR_writev] = CALL_TRANSFER,
    [__NR_preadv] = CALL_TRANSFER,
    [__NR_pwritev] = CALL_TRANSFER,
    [__NR_preadv2] = CALL_TRANSFER,
    [__NR_pwritev2] = CALL_TRANSFER,
    [__NR_sendto] = CALL_TRANSFER,
    [__NR_recvfrom] = CALL_TRANSFER,
    [__NR_sendmsg] = CALL_TRANSFER,
    [__NR_recvmsg] = CALL_TRANSFER,
    [__NR_sendmmsg] = CALL_DESCRIPTOR,
    [__NR_recvmmsg] = CALL_DESCRIPTOR,
    [__NR_sendfile] = CALL_DESCRIPTOR,
    [__NR_splice] = CALL_DESCRIPTOR,
    [__NR_tee] = CALL_DESCRIPTOR,
    [__NR_vmsplice] = CALL_DESCRIPTOR,
    [__NR_copy_file_range] = CALL_DESCRIPTOR,
    [__NR_close] = CALL_DESCRIPTOR,
    [__NR_connect] = CALL_DESCRIPTOR,
    [__NR_accept] = CALL_DESCRIPTOR,
    [__NR_accept4] = CALL_DESCRIPTOR,
    [__NR_shutdown] = CALL_DESCRIPTOR,
    [__NR_listen] = CALL_DESCRIPTOR,
    [__NR_ioctl] = CALL_DESCRIPTOR,
    [__NR_fsync] = CALL_DESCRIPTOR,
    [__NR_fdatasync] = CALL_DESCRIPTOR,
    [__NR_sync_file_range] = CALL_DESCRIPTOR,
    [__NR_syncfs] = CALL_DESCRIPTOR,
    [__NR_ftruncate] = CALL_DESCRIPTOR,
    [__NR_fallocate] = CALL_DESCRIPTOR,
    [__NR_readahead] = CALL_DESCRIPTOR,
    [__NR_getdents64] = CALL_DESCRIPTOR,
    [__NR_getdents] = CALL_DESCRIPTOR,
    [__NR_epoll_wait] = CALL_DESCRIPTOR,
    [__NR_epoll_pwait] = CALL_DESCRIPTOR,
    [__NR_epoll_pwait2] = CALL_DESCRIPTOR,
    [__NR_epoll_ctl] = CALL_EPOLL_CTL,
    [__NR_timerfd_settime] = CALL_DESCRIPTOR,
    [__NR_timerfd_gettime] = CALL_DESCRIPTOR,
    [__NR_io_uring_enter] = CALL_DESCRIPTOR,
    [__NR_mq_timedsend] = CALL_DESCRIPTOR,
    [__NR_mq_timedreceive] = CALL_DESCRIPTOR,
    [__NR_mq_notify] = CALL_DESCRIPTOR,
    [__NR_mq_getsetattr] = CALL_DESCRIPTOR,
    [__NR_pidfd_send_signal] = CALL_DESCRIPTOR,
    [__NR_poll] = CALL_POLL,
    [__NR_ppoll] = CALL_POLL,
    [__NR_select] = CALL_SELECT,
    [__NR_pselect6] = CALL_SELECT,
    [__NR_futex] = CALL_FUTEX,
    [__NR_fcntl] = CALL_FCNTL,
    [__NR_flock] = CALL_FLOCK,
    [__NR_semop] = CALL_SEMAPHORES,
    [__NR_semtimedop] = CALL_SEMAPHORES,
    [__NR_semctl] = CALL_SEMAPHORES,
    [__NR_msgsnd] = CALL_QUEUE,
    [__NR_msgrcv] = CALL_QUEUE,
    [__NR_msgctl] = CALL_QUEUE,
    [__NR_shmat] = CALL_SHARED_MEMORY,
    [__NR_mmap] = CALL_MAP,
    [__NR_mprotect] = CALL_MAP,
    [__NR_mremap] = CALL_OTHER,
    [__NR_getpid] = CALL_INERT,
    [__NR_gettid] = CALL_INERT,
    [__NR_getppid] = CALL_INERT,
    [__NR_getuid] = CALL_INERT,
    [__NR_getgid] = CALL_INERT,
    [__NR_geteuid] = CALL_INERT,
    [__NR_getegid] = CALL_INERT,
    [__NR_getresuid] = CALL_INERT,
    [__NR_getresgid] = CALL_INERT,
    [__NR_getpgid] = CALL_INERT,
    [__NR_getpgrp] = CALL_INERT,
    [__NR_getsid] = CALL_INERT,
    [__NR_getgroups] = CALL_INERT,
    [__NR_getcpu] = CALL_INERT,
    [__NR_getrusage] = CALL_INERT,
    [__NR_getrlimit] = CALL_INERT,
    [__NR_prlimit64] = CALL_INERT,
    [__NR_gettimeofday] = CALL_INERT,
    [__NR_time] = CALL_INERT,
    [__NR_times] = CALL_INERT,
    [__NR_clock_gettime] = CALL_INERT,
    [__NR_clock_getres] = CALL_INERT,
    [__NR_uname] = CALL_INERT,
    [__NR_sysinfo] = CALL_INERT,
    [__NR_umask] = CALL_INERT,
    [__NR_getcwd] = CALL_INERT,
    [__NR_lseek] = CALL_INERT,
    [__NR_dup] = CALL_INERT,
    [__NR_dup2] = CALL_INERT,
    [__NR_dup3] = CALL_INERT,
    [__NR_brk] = CALL_INERT,
    [__NR_madvise] = CALL_INERT,
    [__NR_rt_sigaction] = CALL_INERT,
    [__NR_rt_sigprocmask] = CALL_INERT,
    [__NR_rt_sigpending] = CALL_INERT,
    [__NR_sigaltstack] = CALL_INERT,
    [__NR_arch_prctl] = CALL_INERT,
    [__NR_set_tid_address] = CALL_INERT,
    [__NR_set_robust_list] = CALL_INERT,
    [__NR_rseq] = CALL_INERT,
    [__NR_getsockname] = CALL_INERT,
    [__NR_getpeername] = CALL_INERT,
    [__NR_getsockopt] = CALL_INERT,
    [__NR_setsockopt] = CALL_INERT,
    [__NR_sched_getaffinity] = CALL_INERT,
    [__NR_sched_getparam] = CALL_INERT,
    [__NR_sched_getscheduler] = CALL_INERT,
    [__NR_sched_get_priority_max] = CALL_INERT,
    [__NR_sched_get_priority_min] = CALL_INERT,
    [__NR_getpriority] = CALL_INERT,
    [__NR_capget] = CALL_INERT,
    [__NR_getrandom] = CALL_INERT,
    [__NR_timer_gettime] = CALL_INERT,
    [__NR_getitimer] = CALL_INERT,
    [__NR_fstat] = CALL_INERT,
    [__NR_membarrier] = CALL_OTHER,
};

struct system_call {
    s32 number;
    u32 class;
    u64 argument[3];
};

static __always_inline u32 call_class(s64 number) {
    u64 index = (u64)number;
    if (index >= SYSTEM_CALLS)
        return CALL_OTHER;
    barrier_var(index); // or the compiler folds the check into one that the verifier does not understand
    return CALLS[index & (SYSTEM_CALLS - 1)];
}

static __always_inline void load_call(struct system_call *call, const struct pt_regs *regs) {
    call->number = (s32)regs->orig_ax;
    call->class = call_class(call->number);
    call->argument[0] = regs->di;
    call->argument[1] = regs->si;
    call->argument[2] = regs->dx;
}

// The first descriptor that is ready; before anything is known to be, the first one.
static __always_inline s32 polled_descriptor(const struct system_call *call, bool done) {
    s32 first = -1;
    for (u32 i = 0; i < 8; i++) {
        struct {
            s32 descriptor;
            u16 events, ready;
        } polled;
        if (i >= call->argument[1] || bpf_probe_read_user(&polled, sizeof polled, (void *)(call->argument[0] + 8 * i)))
            break;
        if (first < 0)
            first = polled.descriptor;
        if (done && polled.ready)
            return polled.descriptor;
    }
    return first;
}

static __always_inline s32 selected_descriptor(const struct system_call *call) {
    u64 bits = 0;
    if (!call->argument[1] || bpf_probe_read_user(&bits, sizeof bits, (void *)call->argument[1]) || !bits)
        return -1;
    s32 first = 0;
#pragma unroll
    for (u32 width = 32; width > 0; width /= 2)
        if (!(bits & ((1ull << width) - 1))) {
            first += (s32)width;
            bits >>= width;
        }
    return first;
}

static __always_inline u32 holder_of_lock(void) {
    u32 thread = (u32)bpf_get_current_pid_tgid();
    u32 *holder = bpf_map_lookup_elem(&wp_holders, &thread);
    return holder ? *holder : 0;
}

// fcntl's locks: the range goes to `peer`; returns type and holder.
static __always_inline u64 describe_range(const struct system_call *call, struct trace_object *found) {
    enum { GET = 5, SET = 6, SET_WAIT = 7, OFD_GET = 36, OFD_SET_WAIT = 38 };
    u64 command = call->argument[1];
    struct {
        s16 type, whence;
        s64 start, length;
        s32 pid;
    } range;
    if (!((command >= GET && command <= SET_WAIT) || (command >= OFD_GET && command <= OFD_SET_WAIT)) ||
        bpf_probe_read_user(&range, sizeof range, (void *)call->argument[2]))
        return 0;
    u64 length = range.length < 0 || range.length > 0xffffffff ? 0xffffffff : (u64)range.length;
    found->peer = (u64)(u32)range.start << 32 | length;
    return (u64)(u16)range.type << 32 | holder_of_lock();
}

static __always_inline u64 futex_words(u64 address) {
    u32 words[6]; // of a glibc mutex the first is the lock, the third its owner
    if (bpf_probe_read_user(words, sizeof words, (void *)address) == 0)
        return (u64)words[0] << 32 | words[2];
    if (bpf_probe_read_user(words, sizeof *words, (void *)address) == 0)
        return (u64)words[0] << 32;
    return 0;
}

static __always_inline u64 semaphore_operation(u64 operations) {
    struct {
        u16 number;
        s16 operation, flags;
    } first;
    if (bpf_probe_read_user(&first, sizeof first, (void *)operations))
        return 0;
    return (u64)first.number << 32 | (u32)(s32)first.operation;
}

// What the call of `task`, which is the current one, is about; returns the record's `extra`.
static __noinline u64 call_object(struct task_struct *task, const struct system_call *call, bool done,
                                  struct trace_object *found) {
    s32 descriptor = -1;
    switch (call->class) {
    case CALL_DESCRIPTOR:
    case CALL_TRANSFER:
    case CALL_FCNTL:
    case CALL_FLOCK:
    case CALL_EPOLL_CTL:
        descriptor = (s32)call->argument[0];
        break;
    case CALL_POLL:
        descriptor = polled_descriptor(call, done);
        break;
    case CALL_SELECT:
        descriptor = selected_descriptor(call);
        break;
    case CALL_FUTEX:
        found->object = call->argument[0];
        found->peer = (u32)task->tgid;
        return futex_words(call->argument[0]);
    case CALL_SEMAPHORES:
        found->object = (u32)call->argument[0] | (u64)SEMAPHORES_TYPE << 48;
        return call->number == __NR_semctl ? 0 : semaphore_operation(call->argument[1]);
    case CALL_QUEUE:
        found->object = (u32)call->argument[0] | (u64)QUEUE_TYPE << 48;
        return 0;
    case CALL_SHARED_MEMORY:
        found->object = (u32)call->argument[0] | (u64)SHARED_MEMORY_TYPE << 48;
        return 0;
    default:
        return 0;
    }
    if (descriptor < 0)
        return 0;
    *found = descriptor_object(task, (u32)descriptor);
    if (call->class == CALL_FCNTL)
        return describe_range(call, found);
    if (call->class == CALL_FLOCK)
        return holder_of_lock();
    if (call->class == CALL_EPOLL_CTL) {
        struct trace_object added = descriptor_object(task, (u32)call->argument[2]);
        found->peer = added.object;
        return added.peer;
    }
    return 0;
}

#endif
