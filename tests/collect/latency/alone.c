// Stands in for the sampler behind native/latency, so that it can be tried where no sampler runs: in an emulator.
#include <stdlib.h>
#include <string.h>

#include "latency/latency.h"
#include "sampler/sampler.h"

struct process_state this_process;
__thread struct thread_state this_thread;

bool clock_counter_readable_in_signal(void) {
    return true;
}

__attribute__((constructor)) static void start(void) {
    static struct whyperf_session session;
    this_process.session = &session;
    strcpy(this_process.session_path, getenv("WHYPERF_SESSION"));
    latency_start();
}
