// SPDX-License-Identifier: GPL-2.0-or-later
// Who wrote what single instructions load. Code of modules that the plan does not list loads and stores in the name of
// the instruction that the thread last executed in one that it lists: a call, or a jump in place of one.
#ifndef WHYPERF_DEPENDENCES_READERS_H
#define WHYPERF_DEPENDENCES_READERS_H

#include "valgrind.h"

// Called from instrumented code. An address of 0 means: this access did not happen.
VG_REGPARM(3) void readers_load(Addr address, UWord size, UWord site);
VG_REGPARM(2) void readers_load_for_caller(Addr address, UWord size);
VG_REGPARM(3) void readers_store_for_caller(Addr address, UWord size, UWord site);
// What a system call of the running thread wrote.
void readers_system_call_wrote(Addr address, SizeT length);

#endif
