// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef WHYPERF_DEPENDENCES_INSTRUMENT_H
#define WHYPERF_DEPENDENCES_INSTRUMENT_H

#include "valgrind.h"

// Rewrites a block of code so that it counts its instructions and reports what the plan asks for.
IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *extents,
                 const VexArchInfo *processor, IRType guest_word, IRType host_word);

#endif
