// The few fields of the kernel's structures that are read. Where they lie is found out at load time (CO-RE): neither
// the build nor the package depends on one kernel.
#ifndef WHYPERF_TRACER_KERNEL_H
#define WHYPERF_TRACER_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u64 u64;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;
typedef __s32 s32;
typedef __s64 s64;
typedef __s16 s16;

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum { KERNEL_THREAD = 0x00200000 }; // PF_KTHREAD
enum { FILE_TYPE = 0170000, FILE_SOCKET = 0140000 };
enum { FAMILY_UNIX = 1, FAMILY_INET = 2, FAMILY_INET6 = 10 };
enum { ANONYMOUS_INODES = 0x09041934 }; // magic of the file system whose one inode eventfd, epoll and others share

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
    unsigned long s_magic;
};

struct inode {
    unsigned short i_mode;
    struct super_block *i_sb;
    unsigned long i_ino;
};

struct file {
    struct inode *f_inode;
    void *private_data;
};

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};

struct files_struct {
    struct fdtable *fdt;
};

struct signal_struct {
    struct {
        int counter;
    } live;
};

struct task_struct {
    unsigned int flags;
    int pid, tgid;
    unsigned int __state;
    int exit_code;
    void *stack;
    char comm[16];
    unsigned long maj_flt;
    struct files_struct *files;
    struct signal_struct *signal;
    struct task_struct *group_leader;
};

struct sock_common {
    unsigned short skc_family;
    __be16 skc_dport;
    __u16 skc_num;
};

struct socket;

struct sock {
    struct sock_common __sk_common;
    struct socket *sk_socket;
};

struct socket {
    struct file *file;
    struct sock *sk;
};

struct unix_sock {
    struct sock *peer;
};

struct vm_area_struct {
    unsigned long vm_start, vm_flags, vm_pgoff;
    struct file *vm_file;
};

struct kernel_siginfo {
    int si_code;
};

struct hrtimer {
    long long _softexpires;
};

struct timer_list {
    unsigned long expires;
};

struct work_struct {
    void *func;
};

struct block_device {
    unsigned int bd_dev;
};

struct request {
    unsigned int cmd_flags;
    unsigned int __data_len;
    unsigned long __sector;
    struct block_device *part;
};

struct io_ring_ctx;

struct io_kiocb {
    u8 opcode;
    struct io_ring_ctx *ctx;
};

struct io_uring_cqe {
    s32 res;
};

// Since Linux 6.9 the lock's core is a structure of its own.
struct file_lock_core {
    struct file_lock_core *flc_blocker;
    int flc_pid;
};

struct file_lock {
    struct file_lock_core c;
};

struct file_lock___old {
    struct file_lock___old *fl_blocker;
    unsigned int fl_pid;
};

#pragma clang attribute pop

#endif
