// SPDX-License-Identifier: GPL-2.0-or-later
// Executed instructions: who produced what they read, and that they wrote.
#ifndef WHYPERF_DEPENDENCES_EVENTS_H
#define WHYPERF_DEPENDENCES_EVENTS_H

#include "sites.h"

// The number of the event that was just written, if it was this site's.
UInt events_last_of_site(UInt site);

// Entries of functions count against the limit like events.
void events_count_entry(void);
// True once there were as many as the plan permits; the first time this ends the recording.
Bool events_beyond_limit(void);

// Called from instrumented code. An address of 0 means: this access did not happen.
// An access beyond the last two of an instruction.
VG_REGPARM(2) void events_more_load(Addr address, UWord size);
VG_REGPARM(2) void events_more_store(Addr address, UWord size);
VG_REGPARM(3) void events_write(Site *site, Addr first, Addr second);
VG_REGPARM(1) void events_write_mark(Site *site);
VG_REGPARM(3) void events_pass(Site *site, Addr first, Addr second);
VG_REGPARM(3) void events_tag_store(Addr address, UWord size, UWord tag);
VG_REGPARM(3) void events_pair_load(Addr address, UWord size, UWord site);

#endif
