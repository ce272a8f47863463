// libc's syscall(), in front of it only for SYS_seccomp: that is how libseccomp installs filters.
#ifndef WHYPERF_INTERPOSED_SYSCALL_H
#define WHYPERF_INTERPOSED_SYSCALL_H

// Called instead of that one, by every library that is linked with syscall.c; sets errno.
long whyperf_seccomp(long operation, long flags, void *arguments);

#endif
