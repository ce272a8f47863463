// The machine's own: its registers as the kernel keeps them, and how its frames lead to their callers.
#ifndef WHYPERF_TRACER_BPF_MACHINE_H
#define WHYPERF_TRACER_BPF_MACHINE_H

#include "tracer/machine.h"

#if TRACE_ON_AARCH64
#include "bpf/aarch64/registers.h"
#else
#include "bpf/x86_64/registers.h"
#endif

#endif
