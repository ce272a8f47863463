"""Numbers of linux/perf_event.h and of perf's own file format."""

from __future__ import annotations

import struct
from enum import IntEnum, IntFlag

MAGIC = b"PERFILE2"
MAGIC_OTHER_ORDER = b"2ELIFREP"
HEADER = struct.Struct("<8sQQ6Q4Q")  # magic, size, attribute size; attributes, data, event types; features
PIPE_HEADER_BYTES = 16
SECTION = struct.Struct("<QQ")  # offset, size
RECORD_HEADER = struct.Struct("<IHH")  # type, misc, size


class RecordKind(IntEnum):
    """From 64 on they are perf's own."""

    MMAP = 1
    LOST = 2
    COMM = 3
    EXIT = 4
    THROTTLE = 5
    UNTHROTTLE = 6
    FORK = 7
    READ = 8
    SAMPLE = 9
    MMAP2 = 10
    AUX = 11
    ITRACE_START = 12
    LOST_SAMPLES = 13
    SWITCH = 14
    SWITCH_CPU_WIDE = 15
    NAMESPACES = 16
    KSYMBOL = 17
    BPF_EVENT = 18
    CGROUP = 19
    TEXT_POKE = 20
    AUX_OUTPUT_HW_ID = 21
    HEADER_ATTR = 64
    HEADER_EVENT_TYPE = 65
    TRACING_DATA = 66
    BUILD_ID = 67
    FINISHED_ROUND = 68
    ID_INDEX = 69
    AUXTRACE_INFO = 70
    AUXTRACE = 71
    AUXTRACE_ERROR = 72
    THREAD_MAP = 73
    CPU_MAP = 74
    STAT_CONFIG = 75
    STAT = 76
    STAT_ROUND = 77
    EVENT_UPDATE = 78
    TIME_CONV = 79
    HEADER_FEATURE = 80
    COMPRESSED = 81
    FINISHED_INIT = 82
    COMPRESSED2 = 83
    BPF_METADATA = 84


class Misc(IntFlag):
    """Bits of a record's `misc` that matter here; some mean something else for each kind of record."""

    CPU_MODE = 7
    MMAP_DATA = 1 << 13
    COMM_EXEC = 1 << 13
    SWITCH_OUT = 1 << 13
    SWITCH_OUT_PREEMPTED = 1 << 14
    MMAP_BUILD_ID = 1 << 14
    BUILD_ID_SIZE = 1 << 15


MODE_KERNEL, MODE_USER = 1, 2

# What no sound file exceeds: Linux gives no higher numbers to threads, and no machine has run for that long.
HIGHEST_PID = 1 << 22
NOBODY = 0xFFFFFFFF  # a thread that has all but ended
LAST_TIME = 1 << 60
LONGEST_PERIOD = 1 << 53


class SampleType(IntFlag):
    IP = 1 << 0
    TID = 1 << 1
    TIME = 1 << 2
    ADDR = 1 << 3
    CALLCHAIN = 1 << 5
    ID = 1 << 6
    CPU = 1 << 7
    PERIOD = 1 << 8
    STREAM_ID = 1 << 9
    RAW = 1 << 10
    REGS_USER = 1 << 12
    STACK_USER = 1 << 13
    IDENTIFIER = 1 << 16


class EventType(IntEnum):
    HARDWARE = 0
    SOFTWARE = 1
    TRACEPOINT = 2


class Feature(IntEnum):
    TRACING_DATA = 1
    BUILD_ID = 2
    HOSTNAME = 3
    OS_RELEASE = 4
    ARCH = 6
    CPU_COUNT = 7
    COMMAND = 11
    EVENT_DESCRIPTIONS = 12
    SAMPLE_TIME = 21
    CLOCK_DATA = 29
