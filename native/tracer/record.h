// What the kernel side writes, one fixed-size record an event, and what everybody else reads.
//
// The same text is compiled for BPF, for the loader and for the decoder; `recording/schemas/events.py` names the same
// kinds.
#ifndef WHYPERF_TRACER_RECORD_H
#define WHYPERF_TRACER_RECORD_H

#ifndef __bpf__
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#endif

// `tid` and `pid` are the thread that the event is about: the current one, on a switch the one that leaves the CPU.
// When only some processes are recorded, they are 0 where the current thread merely happened to run (see
// trace_context). `other` is a second thread: (pid << 32 | tid), 0 where there is none.
enum trace_kind {
    TRACE_SWITCH = 1,    // other: who runs next; detail: system call it is in or -1; result: state, 0: preempted
    TRACE_WAKING,        // other: who is woken; detail: system call of the waker or -1; result: state before
    TRACE_WAKEUP_NEW,    // other: a new thread that runs for the first time
    TRACE_SYSCALL,       // end of a system call. detail: number; result: what it returned
    TRACE_SYSCALL_ENTER, // detail: number
    TRACE_SAMPLE, // periodic, per CPU. detail: system call it is in or -1; argument[0]: nanoseconds it stands for
    TRACE_FORK,   // other: the child; argument[0..1]: its name
    TRACE_EXEC,   // argument[0..1]: name from now on
    TRACE_EXIT,   // of a thread; result: its exit code as wait() gives it
    TRACE_RENAME, // argument[0..1]: name from now on
    TRACE_SIGNAL, // generated. detail: number; other: for whom; result: 0 if it will be delivered
    TRACE_SIGNAL_DELIVER, // detail: number
    TRACE_TIMER_START,    // that a thread waits for. object: the timer; argument[0]: when; detail: 1 timer wheel
    TRACE_TIMER_EXPIRE,   // object, detail: as above
    TRACE_WORK_QUEUE,     // object: the work item; argument[0]: its function
    TRACE_WORK_START,     // the same
    TRACE_URING_SUBMIT,   // object: the request; peer: the ring; detail: opcode
    TRACE_URING_COMPLETE, // object, peer: as above; result: what it returned
    TRACE_BLOCK_ISSUE,    // object: the request; peer: device; argument[0]: sector; argument[1]: bytes; detail: 1 write
    TRACE_BLOCK_COMPLETE, // the same; result: error
    TRACE_DATA_READY,     // object: inode of the socket that has data; peer: as for system calls
    TRACE_SOCKET_SEND,    // object, peer; result: bytes or error. Only where no system call tells the same
    TRACE_SOCKET_RECEIVE, // the same
    // argument[0]: address; argument[1]: instruction; detail: x86-64's error code, -1 elsewhere; result: major ones
    // before
    TRACE_PAGE_FAULT,
    TRACE_CONTENTION_BEGIN, // of a lock within the kernel. object: the lock; detail: flags
    TRACE_CONTENTION_END,   // object: the lock; result
    TRACE_FLAG_ACCESS,      // a watched variable. argument[0]: address; argument[1]: value, on aarch64 before the write
    // Of a program's own queue, number `detail` of the recording's. object: the task; peer: its function, where tasks
    // are told apart by it too; argument[0]: where the probe is; argument[1]: where its function returns to
    TRACE_TASK_PUT,
    TRACE_TASK_RUN, // the same, when the task begins
    TRACE_KINDS,
};

// In what the current thread was interrupted when the event happened: it need not have to do with it.
enum trace_context {
    TRACE_IN_HARD_IRQ = 1,
    TRACE_IN_HRTIMER = 2,
    TRACE_IN_TIMER = 4,
    TRACE_IN_NET_SOFTIRQ = 8, // loopback traffic runs here, inside the sender's system call
    TRACE_IN_BLOCK_SOFTIRQ = 16,
    TRACE_IN_OTHER_SOFTIRQ = 32,
};

// `object` of a system call is what its descriptor refers to: inode | file type << 48 (the upper bits of i_mode); for
// eventfd, epoll and timerfd, which share one inode, the kernel's own object; for a futex the address, with the
// process in `peer` unless it is shared (then inode, and 1 << 63 | offset); for SysV objects id | 1 (semaphores), 2
// (queue) or 3 (memory) << 48. `peer` of a unix socket is the other end, of an internet one local port << 16 | remote
// port, of epoll_ctl the added object, of fcntl's locks start << 32 | length. `object` of a waking by a timer is that.
struct trace_record {
    u64 time; // CLOCK_MONOTONIC, nanoseconds
    u32 tid, pid;
    u8 kind;    // enum trace_kind
    u8 context; // enum trace_context
    u16 cpu;
    s32 detail;
    u32 stack;        // user stack, 0: none was taken
    u32 kernel_stack; // 0: none was taken
    u64 other;
    u64 object;
    u64 peer;
    u64 argument[3]; // of a system call (also on SWITCH and WAKING: of the one that is under way)
    s64 result;
    // A futex wait: word at the address << 32 | third word, a glibc mutex' owner. Locks on files: type (fcntl) << 32 |
    // the process that held it. semop: number << 32 | operation. epoll_ctl: peer of the added object.
    u64 extra;
};
_Static_assert(sizeof(struct trace_record) == 96, "records are 96 bytes");

// A stack is kept once and named by its number afterwards.
enum { TRACED_STACK_KERNEL = 1, TRACED_STACK_CUT_SHIFT = 8 }; // flags; why it ends early (enum whyperf_cut) above

struct traced_stack {
    u32 number;
    u16 depth;
    u16 flags;
    // u64 address[depth], innermost first; of callers the return address
};

#endif
