// libc's syscall(), in front of it only for SYS_seccomp, as libseccomp installs filters so, and for system calls that
// make a process.
#ifndef WHYPERF_INTERPOSED_SYSCALL_H
#define WHYPERF_INTERPOSED_SYSCALL_H

// Called instead of that one, by every library that is linked with syscall.c; sets errno.
long whyperf_seccomp(long operation, long flags, void *arguments);

// Called before SYS_clone, SYS_clone3 and SYS_fork. `argument` is their first: flags, or where they are.
void whyperf_before_clone(long number, unsigned long argument);

#endif
