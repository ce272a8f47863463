// Sockets: data that arrives, and transfers that no system call's own record tells of.
#ifndef WHYPERF_TRACER_SOCKETS_H
#define WHYPERF_TRACER_SOCKETS_H

#include "bpf/scheduling.h"

SEC("tp_btf/sk_data_ready")
int BPF_PROG(wp_data_ready, struct sock *sock) {
    u64 thread = bpf_get_current_pid_tgid();
    struct trace_cpu *cpu = this_cpu();
    if (!wanted(TRACE_DATA_READY) || !cpu || shed_level(cpu) >= TRACE_SHED_SOCKETS_TIMERS ||
        !switch_recorded(thread >> 32))
        return 0;
    struct trace_object about = socket_object(sock);
    struct trace_scratch *scratch = about.object ? enter(cpu) : NULL;
    if (!scratch)
        return 0;
    struct trace_record *made = record(cpu, scratch, TRACE_DATA_READY, thread);
    if (made) {
        made->object = about.object;
        made->peer = about.peer;
    }
    leave(cpu, scratch);
    return 0;
}

// read(), recv() and the like: their record has object and length.
static __always_inline bool told_by_call(struct task_struct *task, const struct trace_cpu *cpu) {
    if (!wanted(TRACE_SYSCALL) || task->flags & KERNEL_THREAD || shed_level(cpu) >= TRACE_SHED_SYSCALLS)
        return false;
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
    return call_class(call_number(regs)) == CALL_TRANSFER;
}

static __always_inline void transferred(struct sock *sock, u8 kind, int result) {
    u64 thread = bpf_get_current_pid_tgid();
    struct trace_cpu *cpu = this_cpu();
    if (!cpu || told_by_call(bpf_get_current_task_btf(), cpu) || !wanted(kind) ||
        shed_level(cpu) >= TRACE_SHED_SOCKETS_TIMERS || !scope_of(thread >> 32))
        return;
    struct trace_object about = socket_object(sock);
    struct trace_scratch *scratch = about.object ? enter(cpu) : NULL;
    if (!scratch)
        return;
    struct trace_record *made = record(cpu, scratch, kind, thread);
    if (made) {
        made->object = about.object;
        made->peer = about.peer;
        made->result = result;
    }
    leave(cpu, scratch);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(wp_socket_send, struct sock *sock, int result) {
    transferred(sock, TRACE_SOCKET_SEND, result);
    return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(wp_socket_recv, struct sock *sock, int result) {
    transferred(sock, TRACE_SOCKET_RECEIVE, result);
    return 0;
}

#endif
