// What a descriptor refers to: found through the thread's own table, so that none need be kept up to date.
#ifndef WHYPERF_TRACER_FILES_H
#define WHYPERF_TRACER_FILES_H

#include "bpf/kernel.h"

struct trace_object {
    u64 object, peer;
};

static __always_inline u64 inode_identity(struct inode *inode) {
    return BPF_CORE_READ(inode, i_ino) | (u64)(BPF_CORE_READ(inode, i_mode) & FILE_TYPE) << 48;
}

// The other end: a unix socket's inode, or both ports.
static __always_inline u64 socket_peer(struct sock *sock) {
    u16 family = BPF_CORE_READ(sock, __sk_common.skc_family);
    if (family == FAMILY_UNIX) {
        struct file *other = BPF_CORE_READ((struct unix_sock *)sock, peer, sk_socket, file);
        return other ? inode_identity(BPF_CORE_READ(other, f_inode)) : 0;
    }
    if (family == FAMILY_INET || family == FAMILY_INET6)
        return (u64)BPF_CORE_READ(sock, __sk_common.skc_num) << 16 |
               __builtin_bswap16(BPF_CORE_READ(sock, __sk_common.skc_dport));
    return 0;
}

static __always_inline struct trace_object socket_object(struct sock *sock) {
    struct file *file = BPF_CORE_READ(sock, sk_socket, file);
    struct trace_object found = {};
    if (file) {
        found.object = inode_identity(BPF_CORE_READ(file, f_inode));
        found.peer = socket_peer(sock);
    }
    return found;
}

static __always_inline struct trace_object file_object(struct file *file) {
    struct inode *inode = BPF_CORE_READ(file, f_inode);
    struct trace_object found = {};
    u16 type = BPF_CORE_READ(inode, i_mode) & FILE_TYPE;
    if (type == FILE_SOCKET) {
        struct socket *socket = BPF_CORE_READ(file, private_data);
        found.peer = socket_peer(BPF_CORE_READ(socket, sk));
    } else if (BPF_CORE_READ(inode, i_sb, s_magic) == ANONYMOUS_INODES) {
        found.object = (u64)BPF_CORE_READ(file, private_data);
        return found;
    }
    found.object = BPF_CORE_READ(inode, i_ino) | (u64)type << 48;
    return found;
}

static __always_inline struct file *file_of(struct task_struct *task, u32 descriptor) {
    struct files_struct *files = task->files; // a kernel thread has none
    struct fdtable *table = files ? files->fdt : NULL;
    struct file *file = NULL;
    if (table && descriptor < table->max_fds)
        bpf_probe_read_kernel(&file, sizeof file, table->fd + descriptor);
    return file;
}

static __always_inline struct trace_object descriptor_object(struct task_struct *task, u32 descriptor) {
    struct file *file = file_of(task, descriptor);
    struct trace_object none = {};
    return file ? file_object(file) : none;
}

#endif
