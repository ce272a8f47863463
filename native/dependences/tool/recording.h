// SPDX-License-Identifier: GPL-2.0-or-later
// Whether the stream is still written, and how it ends.
#ifndef WHYPERF_DEPENDENCES_RECORDING_H
#define WHYPERF_DEPENDENCES_RECORDING_H

#include "../stream.h"
#include "valgrind.h"

extern Bool recording;
// Instructions executed so far; instrumented code adds to it.
extern ULong instructions;

// Instructions since the last call.
ULong instructions_since_marker(void);
void recording_end(enum dependences_end how);
// In a forked child: the parent's stream is not ours to write.
void recording_abandon(void);
void record_unsupported(Addr address);

#endif
