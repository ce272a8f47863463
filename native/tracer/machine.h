// What of the shared structures depends on the machine, told alike to the programs in the kernel and to the loader.
#ifndef WHYPERF_TRACER_MACHINE_H
#define WHYPERF_TRACER_MACHINE_H

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define TRACE_ON_AARCH64 1
// Of 33 registers: x0 to x30, sp, pc. A power of two bounds an index with a mask.
enum { TRACE_REGISTER_SLOTS = 64, TRACE_SAVED_REGISTERS = 12 };
#else
#define TRACE_ON_AARCH64 0
// Of 17 registers.
enum { TRACE_REGISTER_SLOTS = 32, TRACE_SAVED_REGISTERS = 6 };
#endif

#endif
