// Whether machine code ends in a call: what stands before a return address does.
#ifndef WHYPERF_CALL_CODE_H
#define WHYPERF_CALL_CODE_H

#include "unwind/unwind.h"

#ifdef WHYPERF_AARCH64_REGISTERS_H
#include "unwind/aarch64/call_code.h"
#else
#include "unwind/x86_64/call_code.h"
#endif

#endif
