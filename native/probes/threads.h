// Word of every thread that starts, before it runs any code of the program, and of forks.
#ifndef WHYPERF_PROBES_THREADS_H
#define WHYPERF_PROBES_THREADS_H

#include <stdbool.h>

struct threads_events {
    void (*thread_begins)(void);
    void (*before_fork)(void);
    void (*after_fork_in_parent)(void);
    void (*after_fork_in_child)(void);
};

// False if forks would go unnoticed.
bool threads_watch(const struct threads_events *events);

#endif
