// What a descriptor refers to: found through the thread's own table, so that none need be kept up to date.
#ifndef WHYPERF_TRACER_FILES_H
#define WHYPERF_TRACER_FILES_H

#include "bpf/maps.h"

struct trace_object {
    u64 object, peer;
};

// Since Linux 6.2 a word may be taken for a pointer, whose fields are then read without a call for each.
extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym __weak;

#define TAKEN_FOR(type, word, direct) ((direct) ? bpf_rdonly_cast(word, bpf_core_type_id_kernel(type)) : (void *)(word))
#define FIELD(pointer, member, direct) ((direct) ? (pointer)->member : BPF_CORE_READ(pointer, member))

static __always_inline u64 inode_identity(struct inode *inode, bool direct) {
    return FIELD(inode, i_ino, direct) | (u64)(FIELD(inode, i_mode, direct) & FILE_TYPE) << 48;
}

// The other end: a unix socket's inode, or both ports.
static __always_inline u64 socket_peer(struct sock *sock, bool direct) {
    u16 family = FIELD(sock, __sk_common.skc_family, direct);
    if (family == FAMILY_UNIX) {
        struct file *other = BPF_CORE_READ((struct unix_sock *)sock, peer, sk_socket, file);
        return other ? inode_identity(BPF_CORE_READ(other, f_inode), false) : 0;
    }
    if (family == FAMILY_INET || family == FAMILY_INET6)
        return (u64)FIELD(sock, __sk_common.skc_num, direct) << 16 |
               __builtin_bswap16(FIELD(sock, __sk_common.skc_dport, direct));
    return 0;
}

static __always_inline struct trace_object socket_object(struct sock *sock) {
    struct file *file = BPF_CORE_READ(sock, sk_socket, file);
    struct trace_object found = {};
    if (file) {
        found.object = inode_identity(BPF_CORE_READ(file, f_inode), false);
        found.peer = socket_peer(sock, false);
    }
    return found;
}

static __always_inline struct trace_object object_at(void *word, bool direct) {
    struct file *file = TAKEN_FOR(struct file, word, direct);
    struct inode *inode = FIELD(file, f_inode, direct);
    struct trace_object found = {};
    u16 type = FIELD(inode, i_mode, direct) & FILE_TYPE;
    if (type == FILE_SOCKET) {
        struct socket *socket = TAKEN_FOR(struct socket, FIELD(file, private_data, direct), direct);
        found.peer = socket_peer(FIELD(socket, sk, direct), direct);
    } else if ((direct ? inode->i_sb->s_magic : BPF_CORE_READ(inode, i_sb, s_magic)) == ANONYMOUS_INODES) {
        found.object = (u64)FIELD(file, private_data, direct);
        return found;
    }
    found.object = FIELD(inode, i_ino, direct) | (u64)type << 48;
    return found;
}

static __always_inline struct trace_object file_object(struct file *file) {
    return settings.reads_directly ? object_at(file, true) : object_at(file, false);
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
