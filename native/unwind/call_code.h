// Whether machine code ends in a call: what stands before a return address does.
#ifndef WHYPERF_CALL_CODE_H
#define WHYPERF_CALL_CODE_H

#ifdef __aarch64__
#include "unwind/aarch64/call_code.h"
#else
#include "unwind/x86_64/call_code.h"
#endif

#endif
