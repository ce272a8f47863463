// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of Valgrind's tool interface that this tool uses.
#ifndef WHYPERF_DEPENDENCES_VALGRIND_H
#define WHYPERF_DEPENDENCES_VALGRIND_H

#include "pub_tool_basics.h"

#include "libvex_guest_offsets.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"

#endif
