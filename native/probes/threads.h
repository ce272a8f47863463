// Word of every thread that starts, before it runs any code of the program, and of forks.
#ifndef WHYPERF_PROBES_THREADS_H
#define WHYPERF_PROBES_THREADS_H

#include <stdbool.h>
#include <stdint.h>

struct threads_events {
    uint8_t *(*creators_block)(void); // what thread_begins is given, asked of the creator
    void (*thread_begins)(uint8_t *creators_block);
    void (*before_fork)(void);
    void (*after_fork_in_parent)(void);
    void (*after_fork_in_child)(void);
};

// False if forks would go unnoticed.
bool threads_watch(const struct threads_events *events);

#endif
