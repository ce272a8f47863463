// Room in files that the program writes to by way of memory.
#ifndef WHYPERF_PROBES_DISK_H
#define WHYPERF_PROBES_DISK_H

#include <stdbool.h>
#include <stdint.h>

// A file beyond the limit would not only fail to grow: the program would get a signal.
bool disk_may_hold(uint64_t bytes);
// Takes disk space now: for want of it later, the program itself would be killed when it writes there.
bool disk_take(int fd, uint64_t at, uint64_t bytes);

#endif
