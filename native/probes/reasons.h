// Why a module is not counted. whyperf/collect/counts/counter_files.py has the same numbers.
#ifndef WHYPERF_PROBES_REASONS_H
#define WHYPERF_PROBES_REASONS_H

enum probes_reason {
    PROBES_DONE = 0,
    PROBES_NO_BUILD_ID = 1,
    PROBES_NO_PLAN = 2,
    PROBES_PLAN_DAMAGED = 3,
    PROBES_PLAN_OTHER_VERSION = 4,
    PROBES_OTHER_CODE = 5,        // bytes differ from those that were planned for
    PROBES_NO_ROOM = 6,           // no free memory within reach of the module
    PROBES_TOO_MANY_COUNTERS = 7, // more than a block holds
    PROBES_NO_DISK = 8,           // no disk space for counters
    PROBES_NOT_WRITABLE = 9,      // the system refuses to change code
    PROBES_TEXT_RELOCATIONS = 10, // the dynamic linker writes into the code as well
    PROBES_TAKES_REGISTER = 11, // it needs the register by which threads find their counters, and locking is no way out
    PROBES_NO_SYMBOL = 12,      // transplanted code calls a function that no loaded module has
};

#endif
