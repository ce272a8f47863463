// The recorder's end of the rings: copies what threads have produced into the raw log.
#ifndef WHYPERF_DRAIN_H
#define WHYPERF_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/intern.h"
#include "session/living.h"
#include "session/output.h"
#include "session/rings.h"

struct drainer {
    struct rings rings;
    struct intern intern;
    struct living living;
    struct output output;
    uint64_t *ring_copy;
    bool repeat_living; // a new log file has begun
};

bool drainer_prepare(struct drainer *drainer); // after its rings were opened
void drainer_release(struct drainer *drainer);

// Appends to `fd` and returns how many records were copied; -1 with errno when that failed, and then everything not
// yet written is still in the rings.
int64_t drainer_drain(struct drainer *drainer, int fd);
void drainer_new_log_file(struct drainer *drainer);

// Frees the drained slots of threads that have ended, were killed or vanished in an exec.
size_t drainer_retire(struct drainer *drainer);
struct whyperf_counters drainer_counters(const struct drainer *drainer);

#endif
