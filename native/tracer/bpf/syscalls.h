// What a system call is about: found from its arguments, by its class.
#ifndef WHYPERF_TRACER_SYSCALLS_H
#define WHYPERF_TRACER_SYSCALLS_H

#include "bpf/call_classes.h"
#include "bpf/files.h"
#include "bpf/maps.h"

// SysV objects are named by ids; these stand where inodes have their file type.
enum { SEMAPHORES_TYPE = 1, QUEUE_TYPE = 2, SHARED_MEMORY_TYPE = 3 };

struct system_call {
    s32 number;
    u32 class;
    u64 argument[3];
};

static __always_inline void load_call(struct system_call *call, const struct pt_regs *regs) {
    call->number = call_number(regs);
    call->class = call_class(call->number);
    load_call_arguments(call->argument, regs);
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
