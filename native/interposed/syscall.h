// libc's syscall(), in front of it only for SYS_seccomp, as libseccomp installs filters so, and for system calls that
// make a process.
#ifndef WHYPERF_INTERPOSED_SYSCALL_H
#define WHYPERF_INTERPOSED_SYSCALL_H

// Called instead of that one, by every library that is linked with syscall.c; sets errno.
long whyperf_seccomp(long operation, long flags, void *arguments);

// Called in the parent, after SYS_clone, SYS_clone3 or SYS_fork made a child. `argument` is their first: flags, or
// where they are.
void whyperf_after_clone(long number, unsigned long argument);

#endif
