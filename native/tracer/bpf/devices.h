// Work that goes on without the thread that asked for it: workqueues, io_uring, block devices.
#ifndef WHYPERF_TRACER_DEVICES_H
#define WHYPERF_TRACER_DEVICES_H

#include "bpf/scope.h"

static __always_inline void describe(struct trace_record *made, u64 object, u64 peer, s32 detail, u64 argument0,
                                     u64 argument1) {
    made->object = object;
    made->peer = peer;
    made->detail = detail;
    made->argument[0] = argument0;
    made->argument[1] = argument1;
}

static __always_inline void begins(u8 kind, u64 object, u64 peer, s32 detail, u64 argument0, u64 argument1) {
    u64 thread = bpf_get_current_pid_tgid();
    struct trace_cpu *cpu = this_cpu();
    if (!cpu || !wanted(kind) || !switch_recorded(thread >> 32))
        return;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return;
    if (settings.scope != TRACE_SCOPE_ALL)
        begun(object, 0);
    struct trace_record *made = record(cpu, scratch, kind, thread);
    if (made)
        describe(made, object, peer, detail, argument0, argument1);
    leave(cpu, scratch);
}

static __always_inline void ends(u8 kind, u64 object, u64 peer, s32 detail, u64 argument0, u64 argument1, s64 result) {
    struct trace_cpu *cpu = this_cpu();
    if (!cpu || !wanted(kind) || (settings.scope != TRACE_SCOPE_ALL && !ended(object)))
        return;
    struct trace_scratch *scratch = enter(cpu);
    if (!scratch)
        return;
    struct trace_record *made = record(cpu, scratch, kind, whose(cpu, bpf_get_current_pid_tgid()));
    if (made) {
        describe(made, object, peer, detail, argument0, argument1);
        made->result = result;
    }
    leave(cpu, scratch);
}

static __always_inline bool work_shed(void) {
    struct trace_cpu *cpu = this_cpu();
    return !cpu || shed_level(cpu) >= TRACE_SHED_FAULTS_LOCKS_WORK;
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(wp_work_queue, int wanted_cpu, void *queue, struct work_struct *work) {
    if (!work_shed())
        begins(TRACE_WORK_QUEUE, (u64)work, 0, 0, (u64)work->func, 0);
    return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(wp_work_start, struct work_struct *work) {
    if (!work_shed())
        ends(TRACE_WORK_START, (u64)work, 0, 0, (u64)work->func, 0, 0);
    return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(wp_uring_submit, struct io_kiocb *request) {
    begins(TRACE_URING_SUBMIT, (u64)request, (u64)request->ctx, request->opcode, 0, 0);
    return 0;
}

// Its name before Linux 6.4.
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(wp_uring_sqe, struct io_kiocb *request) {
    begins(TRACE_URING_SUBMIT, (u64)request, (u64)request->ctx, request->opcode, 0, 0);
    return 0;
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(wp_uring_done, struct io_ring_ctx *ring, void *request, struct io_uring_cqe *entry) {
    ends(TRACE_URING_COMPLETE, (u64)request, (u64)ring, 0, 0, 0, BPF_CORE_READ(entry, res));
    return 0;
}

// Before Linux 6.13 the result is an argument; where there is no fourth one, this program is refused.
SEC("tp_btf/io_uring_complete")
int BPF_PROG(wp_uring_result, void *ring, void *request, u64 user_data, int result) {
    ends(TRACE_URING_COMPLETE, (u64)request, (u64)ring, 0, 0, 0, result);
    return 0;
}

static __always_inline u64 device_of(struct request *request) {
    return BPF_CORE_READ(request, part, bd_dev);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(wp_block_issue, struct request *request) {
    begins(TRACE_BLOCK_ISSUE, (u64)request, device_of(request), request->cmd_flags & 1, request->__sector,
           request->__data_len);
    return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(wp_block_done, struct request *request, u8 error, unsigned int bytes) {
    ends(TRACE_BLOCK_COMPLETE, (u64)request, device_of(request), request->cmd_flags & 1, request->__sector, bytes,
         error);
    return 0;
}

#endif
