#include "tracer/programs.h"

#include <string.h>

static const struct tracer_program PROGRAMS[] = {
    {"wp_switch", TRACE_SWITCH, "SWITCH", NULL},
    {"wp_waking", TRACE_WAKING, "WAKING", NULL},
    {"wp_wakeup_new", TRACE_WAKEUP_NEW, "WAKEUP_NEW", NULL},
    {"wp_sys_exit", 0, "SYSCALL", NULL}, // also tells of executable memory
    {"wp_sys_enter", TRACE_SYSCALL_ENTER, "SYSCALL_ENTER", NULL},
    {"wp_sample", TRACE_SAMPLE, "SAMPLE", NULL},
    {"wp_fork", 0, "FORK", NULL}, // these three also tell whose modules are needed
    {"wp_exec", 0, "EXEC", NULL},
    {"wp_exit", 0, "EXIT", NULL},
    {"wp_rename", TRACE_RENAME, "RENAME", NULL},
    {"wp_signal", TRACE_SIGNAL, "SIGNAL", NULL},
    {"wp_deliver", TRACE_SIGNAL_DELIVER, "SIGNAL_DELIVER", NULL},
    {"wp_hrtimer", TRACE_TIMER_START, "TIMER_START", NULL},
    {"wp_timer", TRACE_TIMER_START, "TIMER_START", NULL},
    {"wp_hrtimer_in", 0, "TIMER_EXPIRE", NULL},
    {"wp_timer_in", 0, "TIMER_EXPIRE", NULL},
    {"wp_hrtimer_out", 0, "TIMER_EXPIRE", NULL},
    {"wp_timer_out", 0, "TIMER_EXPIRE", NULL},
    {"wp_work_queue", TRACE_WORK_QUEUE, "WORK_QUEUE", NULL},
    {"wp_work_start", TRACE_WORK_START, "WORK_START", NULL},
    {"wp_uring_submit", TRACE_URING_SUBMIT, "URING_SUBMIT", "wp_uring_sqe"},
    {"wp_uring_sqe", TRACE_URING_SUBMIT, "URING_SUBMIT", "wp_uring_submit"},
    {"wp_uring_done", TRACE_URING_COMPLETE, "URING_COMPLETE", "wp_uring_result"},
    {"wp_uring_result", TRACE_URING_COMPLETE, "URING_COMPLETE", "wp_uring_done"},
    {"wp_block_issue", TRACE_BLOCK_ISSUE, "BLOCK_ISSUE", NULL},
    {"wp_block_done", TRACE_BLOCK_COMPLETE, "BLOCK_COMPLETE", NULL},
    {"wp_data_ready", TRACE_DATA_READY, "DATA_READY", NULL},
    {"wp_socket_send", TRACE_SOCKET_SEND, "SOCKET_SEND", NULL},
    {"wp_socket_recv", TRACE_SOCKET_RECEIVE, "SOCKET_RECEIVE", NULL},
    {"wp_page_fault", TRACE_PAGE_FAULT, "PAGE_FAULT", NULL},
    {"wp_contended", TRACE_CONTENTION_BEGIN, "CONTENTION_BEGIN", NULL},
    {"wp_contended_end", TRACE_CONTENTION_END, "CONTENTION_END", NULL},
    {"wp_flag", TRACE_FLAG_ACCESS, "FLAG_ACCESS", NULL},
    {"wp_task", TRACE_TASK_PUT, "TASK_PUT", NULL},
    {"wp_posix_lock", 0, "holders of fcntl locks", NULL},
    {"wp_flock", 0, "holders of flock locks", NULL},
    {"wp_irq_entry", 0, "interrupt context", NULL},
    {"wp_irq_exit", 0, "interrupt context", NULL},
    {"wp_softirq_in", 0, "softirq context", NULL},
    {"wp_softirq_out", 0, "softirq context", NULL},
};

const struct tracer_program *tracer_program(const char *name) {
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++)
        if (strcmp(PROGRAMS[i].name, name) == 0)
            return &PROGRAMS[i];
    return NULL;
}
