// The programs that record what the kernel does. Each file of this folder holds those of one subject.
//
// SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only
// The kernel lets programs use some of its functions only under a licence like its own; this folder has three to
// choose.
#include "bpf/calls.h"
#include "bpf/devices.h"
#include "bpf/flags.h"
#include "bpf/interrupts.h"
#include "bpf/memory.h"
#include "bpf/processes.h"
#include "bpf/scheduling.h"
#include "bpf/sockets.h"
#include "bpf/tasks.h"
#include "bpf/timers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
