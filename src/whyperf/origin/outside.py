"""Functions of libraries with which a chain ends: what they return comes from outside, from a clock, from nowhere."""

from __future__ import annotations

from whyperf.diagnose.origin import ChainEnd


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NUMBERS = "atoi atol atoll atof strtol strtoul strtoll strtoull strtod strtof sscanf strtoimax strtoumax"
_TEXT = frozenset(f"{prefix}{name}" for prefix in ("", "__isoc99_", "__isoc23_") for name in _names(_NUMBERS))
_LOOKS_AT_TEXT = _names(
    "strlen strnlen strcmp strncmp strcasecmp strncasecmp memcmp bcmp strchr strrchr strstr strspn strcspn strpbrk "
    "memchr rawmemchr fnmatch"
)
_ENVIRONMENT = frozenset(("getenv", "secure_getenv"))
_OPTIONS = frozenset(("getopt", "getopt_long", "getopt_long_only"))
_READS = _names(
    "read pread pread64 readv recv recvfrom recvmsg fread fread_unlocked fgets fgets_unlocked getline getdelim "
    "__getdelim getc fgetc getc_unlocked fgetc_unlocked getchar _IO_getc "
    "__uflow scanf fscanf __isoc99_scanf __isoc99_fscanf __isoc23_scanf "
    "__isoc23_fscanf mmap mmap64 __read_chk __fgets_chk __fread_chk __recv_chk stat fstat lstat fstatat ftell lseek "
    "sysconf get_nprocs sched_getaffinity accept accept4 poll epoll_wait select"
)
_CHANCE = _names(
    "time clock clock_gettime gettimeofday rand rand_r random lrand48 drand48 mrand48 getrandom getentropy arc4random "
    "arc4random_uniform getpid pthread_self sched_getcpu _ZNSt6chrono3_V212system_clock3nowEv "
    "_ZNSt6chrono3_V212steady_clock3nowEv"
)
_ALLOCATES = _names("malloc calloc realloc aligned_alloc posix_memalign strdup strndup _Znwm _Znam")


def reads_number(name: str) -> bool:
    """Whether it makes a number of a text."""
    return name in _TEXT


def takes_text(name: str) -> bool:
    """Whether what it returns is read from a text that it is given first."""
    return name in _TEXT or name in _LOOKS_AT_TEXT


def end_at(name: str, source: str = "outside of the program") -> tuple[ChainEnd, str] | None:
    """How a chain ends that comes to a function's result; None: it does not. `source`: what it reads."""
    ends = (
        (_TEXT, ChainEnd.OUTSIDE, f"{name}() reads it from a text."),
        (_LOOKS_AT_TEXT, ChainEnd.OUTSIDE, f"{name}() looks at a text that comes from outside of the program."),
        (_ENVIRONMENT, ChainEnd.OUTSIDE, "It comes from the environment."),
        (_OPTIONS, ChainEnd.OUTSIDE, "It is an option of the command line."),
        (_READS, ChainEnd.OUTSIDE, f"{name}() reads it from {source}."),
        (_CHANCE, ChainEnd.CHANCE, f"{name}() returns something else in every run."),
        (_ALLOCATES, ChainEnd.ADDRESS, f"It is where {name}() found room."),
    )
    plain = name.removeprefix("__libc_")
    return next(((end, sentence) for names, end, sentence in ends if plain in names), None)
