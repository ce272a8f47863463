// The programs that record what the kernel does. Each file of this folder holds those of one subject.
#include "bpf/calls.h"
#include "bpf/devices.h"
#include "bpf/flags.h"
#include "bpf/interrupts.h"
#include "bpf/memory.h"
#include "bpf/processes.h"
#include "bpf/scheduling.h"
#include "bpf/sockets.h"
#include "bpf/timers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
