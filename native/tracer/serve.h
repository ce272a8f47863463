// Answering the programs: what processes have mapped, as they ask for it.
#ifndef WHYPERF_TRACER_SERVE_H
#define WHYPERF_TRACER_SERVE_H

#include "tracer/tracer.h"

// A descriptor that can be read from when there are notices, or -1 with errno; 0 if some wait already.
int notices_to_wait_for(struct tracer *tracer);
// Answers the notices that there are and appends what happened. 0 or an errno.
int serve_notices(struct tracer *tracer, struct served_list *done);

void notices_clear(struct tracer *tracer);

#endif
