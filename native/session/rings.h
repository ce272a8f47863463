// The rings file as the recorder sees it: made, mapped, grown.
#ifndef WHYPERF_RINGS_H
#define WHYPERF_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/session.h"

struct rings {
    struct whyperf_session *session;
    int fd;
    bool is_copy; // changes stay in this process
};

struct rings_settings {
    uint32_t rate_hz;
    bool use_perf_events;
    uint32_t values_depth;    // 0: no values
    uint32_t memory_interval; // bytes; 0: no allocations
    uint32_t fault_interval;  // page faults; 0: none
    const char *tables, *library;
};

enum rings_result { RINGS_OK, RINGS_ERRNO, RINGS_NOT_ONE };

// RINGS_ERRNO leaves the reason in errno.
enum rings_result rings_create(const char *path, const struct rings_settings *settings);
enum rings_result rings_open(struct rings *rings, const char *path, bool as_copy);
void rings_close(struct rings *rings);

// A file that was cut short while mapped would kill its reader with SIGBUS.
bool rings_are_whole(const struct rings *rings);

// Puts disk blocks behind more rings when at least half of those that have them are taken.
void rings_back_more(struct rings *rings, uint32_t taken);

#endif
