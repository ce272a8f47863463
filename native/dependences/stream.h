/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
 *
 * What goes into and comes out of the Valgrind tool `dependences`: the plan it reads, the stream it writes, and the
 * arrays that the Python extension whyperf.collect._dependences makes of the stream. Only numbers and layouts are
 * defined here; the tool and the decoder include nothing else of one another.
 *
 * 1. THE PLAN
 *
 * A text file, one item a line, words separated by one space, numbers in hexadecimal without 0x. Addresses are
 * link-time virtual addresses of their module (what symbols and DWARF use). Empty lines are ignored; anything else
 * that is not understood stops the tool before the program starts, naming the line.
 *
 *   whyperf-plan 1
 *   outside tag | pass       what unlisted code does to values; default: tag
 *   addresses yes | no       also write producers of addresses (kind ADDRESS); default: no
 *   pairs yes | no           also count memory pairs: last writer's site -> loading site (see PAIR); default: no
 *   limit COUNT              stop writing after so many events and function entries; default: 7ffffff0
 *   module NAME BUILDID      what follows is of this module: NAME is the file's base name, BUILDID in hex or `-`.
 *                            With a build-id only it decides, with `-` the name does.
 *   function ENTRY MODE [heap | heap-stores]
 *                            Functions are numbered from 0 in the order of the file, over all modules: FUNCTION below.
 *   range LO HI              code of the function before: [LO, HI). One or more (hot and cold parts).
 *   mark ADDRESS             write an event whenever this instruction is executed, whatever the mode of its function
 *                            (entry of an inlined function, line, block). It has no producers unless its mode is zoom.
 *   reader ADDRESS OFFSET SIZE
 *                            count who wrote SIZE bytes, from OFFSET on, of those that this instruction loads (PAIR;
 *                            writer 0: nobody known did). Then code of modules that are not listed loads and stores
 *                            in the name of the instruction of a listed one that called it, and so do system calls: a
 *                            reader may be a call of memcpy, and a writer one of read. Without zoom.
 *   watch ADDRESS SIZE       a variable of 1, 2, 4 or 8 bytes: every store that overlaps it writes WATCH.
 *
 * MODE   entries  entry and return only, values as `outside tag`
 *        zoom     entry and return, and an event with its producers for every executed instruction
 *        pass     as entries, and values pass through: see below
 *        heap     the entry carries the first two integer arguments and the return address, the return the result
 *        heap-stores   as heap, of a function like posix_memalign: its second and third argument, and as the result
 *                 what it stored where its first argument points; 0 if it returned an error
 *
 * Sketch: every function `entries`. Zoom: the functions of interest `zoom`, the others as one likes. Pairs alone:
 * `pairs yes` with readers `entries`: loads are counted for all listed functions, stores of all code.
 * Code that is not listed is folded into its caller: its instructions are counted there.
 *
 * Values and unselected code. Each byte of memory and each register part remembers the event that wrote it last.
 *   tag    code without events marks what it writes as "outside, by this site": readers get no edge, but a PAIR.
 *          Only push and pop hand on what they move: a callee restores its caller's registers.
 *   pass   code without events hands on what it read: a value made of one event's value remains that event's; of
 *          several, a JOIN event is written at the site that joined them, with these as its producers. So the bytes
 *          that memcpy copied still belong to who made them. Costs nearly as much time as zoom, but few events.
 *   A system call's results have no producer.
 *
 * 2. THE STREAM
 *
 * "whyperf dependences stream 1\n" (DEPENDENCES_MAGIC), then chunks: u32 length, u32 check (dependences_check), and
 * `length` bytes. A record never crosses a chunk, so what was written before a kill or a full disk can be read. All
 * numbers are little endian; in a chunk they are LEB128 varints (v), signed ones zigzag (z). Deltas continue across
 * chunks.
 *
 * A record starts with a varint; its low four bits are the form:
 *   0..8     event: registers = form % 3, memories = form / 3 producers, of kind REGISTER, then MEMORY: each v = id of
 *            this event - id of the producer. The rest of the varint is z: site - site of the event before.
 *   9        event with any producers: the same z; then v count, and each v: distance << 2 | kind
 *   10       JOIN event: as form 9
 *   15       other record: the rest is enum dependences_record, followed by its numbers
 *
 * Events are numbered from 1 in the order of execution, all threads together; a producer is always older. Sites are
 * numbered from 1 in the order of their SITE records, each before its first use.
 *
 * What a producer is. REGISTER, MEMORY: an event that wrote a part of a value input last (each event once, memory
 * byte by byte, on amd64 al/ah/rest apart, vector registers by 4 bytes, the flags C P A Z S O apart). OLD: of the old
 * value of memory that an instruction changes in place and puts nowhere else (inc [m]; lock add [m], r; not xadd,
 * cmpxchg), apart so that recurrences can be cut. ADDRESS: of a register that only forms an address. The stack pointer,
 * the program counter and segment bases are no values. Instructions that do not read what they name (xor r,r; sub r,r;
 * pcmpeq x,x; sbb r,r reads only C) have no producers from it. The event of an instruction that is repeated (rep movs)
 * is written once a repetition. x87 registers are one unit.
 */
#ifndef WHYPERF_DEPENDENCES_STREAM_H
#define WHYPERF_DEPENDENCES_STREAM_H

#define DEPENDENCES_MAGIC "whyperf dependences stream 1\n"
#define DEPENDENCES_PLAN_MAGIC "whyperf-plan 1"

enum dependences_form {
    FORM_PLAIN_LAST = 8,
    FORM_EVENT = 9,
    FORM_JOIN = 10,
    FORM_OTHER = 15,
};

enum dependences_producer { PRODUCER_REGISTER, PRODUCER_MEMORY, PRODUCER_OLD, PRODUCER_ADDRESS };

/* INSTRUCTIONS is v: instructions executed by the running thread since the last ENTER, LEAVE or SWITCH. */
enum dependences_record {
    /* v lowest mapped address, v bias (run-time minus link-time address), v length and build-id, v length and path.
     * Numbered from 0; 0 is code of no file, with an empty path. */
    RECORD_MODULE = 0,
    /* v module, z address - address of the site before, v length in bytes, v FUNCTION + 1 or 0, v flags (SITE_*). */
    RECORD_SITE = 1,
    /* v FUNCTION, INSTRUCTIONS, v flags (ENTER_*); with ENTER_ARGUMENTS: v first, v second argument (heap-stores:
     * v second, v third), v return address. */
    RECORD_ENTER = 2,
    /* v activations that ended, innermost first, INSTRUCTIONS, v flags (LEAVE_*); with LEAVE_RESULT: v result,
     * of heap-stores what was stored. */
    RECORD_LEAVE = 3,
    /* v thread that runs from here on (numbered from 1 as they are created), INSTRUCTIONS of the thread before. */
    RECORD_SWITCH = 4,
    /* v new thread, v its creator. */
    RECORD_THREAD = 5,
    /* v signal: its handler starts in the running thread. What it calls is no child of what it interrupted. */
    RECORD_SIGNAL = 6,
    /* The innermost handler ended (returned, or was left by longjmp). */
    RECORD_SIGNAL_END = 7,
    /* v watch (numbered from 0 in the plan), v site, v event (0: the site has none), v old value, v new value. */
    RECORD_WATCH = 8,
    /* v reading site, v writing site, v loads: summed over the run, written at its end. */
    RECORD_PAIR = 9,
    /* v enum dependences_inexact, v how often: written at the end. */
    RECORD_INEXACT = 10,
    /* No numbers. The child does not write: whatever it does is lost, until it executes another program. */
    RECORD_FORK = 11,
    /* v site's module, v address, v length and bytes: Valgrind cannot execute this; SIGILL follows. */
    RECORD_UNSUPPORTED = 12,
    /* v enum dependences_end, v instructions of the whole run. The last record of a complete stream. */
    RECORD_END = 13,
};

enum dependences_site {
    SITE_COPY = 1, /* moves a value unchanged: mov, movzx/movsx, push, pop, vector moves, xchg, cmov */
    SITE_CALL = 2,
    SITE_RETURN = 4,
    SITE_CONDITIONAL = 8, /* conditional jump */
    SITE_INDIRECT = 16,   /* target of the jump or call comes from a register or memory */
    SITE_ZOOM = 128,      /* every execution is an event */
    SITE_MARK = 256,
};

enum dependences_enter {
    ENTER_TAIL = 1, /* jumped to: ends together with the activation that jumped */
    ENTER_ARGUMENTS = 2,
};

enum dependences_leave {
    LEAVE_UNWOUND = 1, /* found gone without a return: longjmp, exception, thread's end */
    LEAVE_RESULT = 2,
};

enum dependences_inexact {
    INEXACT_X87,       /* events of x87 instructions: producers are the last x87 writers */
    INEXACT_PRODUCERS, /* producers beyond the 60th of an event, left out */
    INEXACT_OUTSIDE,   /* value inputs that came from tagged code: no edge */
    INEXACT_PAIRS,     /* pairs that found no room */
    INEXACT_DEPTH,     /* activations beyond depth 60000, folded */
    INEXACT_STACKS,    /* times the stack pointer went to another stack (coroutines): activations told apart by stack */
    INEXACT_EVENTS,    /* events beyond the limit, not written */
    INEXACT_HELPERS,   /* events of instructions that Valgrind runs by an opaque helper: all its state is an input */
    INEXACT_COUNT,
};

enum dependences_end { END_EXIT, END_LIMIT, END_DISK };

/* Multiplies and folds: enough to tell a torn chunk from a whole one, at memory speed. */
static inline unsigned dependences_check(const unsigned char *bytes, unsigned length) {
    unsigned long long sum = 0x9E3779B97F4A7C15ull ^ length;
    unsigned at = 0;
    for (; at + 8 <= length; at += 8) {
        unsigned long long word;
        __builtin_memcpy(&word, bytes + at, 8);
        sum = (sum ^ word) * 0xD6E8FEB86659FD93ull;
        sum ^= sum >> 29;
    }
    for (; at < length; at++)
        sum = (sum ^ bytes[at]) * 0x100000001B3ull;
    return (unsigned)(sum ^ sum >> 32);
}

/* 3. THE DECODER: whyperf.collect.dependences.stream, over the extension whyperf.collect._dependences
 *
 *   stream = read_stream(path: Path) -> Stream        WhyperfError for what is no stream; a cut one is read up to the
 * cut .modules    tuple of StreamModule(path, build_id, base, bias) .sites      structured array, row 0 unused: module
 * u4, function i4 (-1: none), address u8, flags u2, length u1 .pairs      structured array: reader u4, writer u4
 * (sites), loads u8 .watches    structured array: watch u4, site u4, event u4, thread u4, old u8, new u8 .inexact dict
 * of the counts that are not 0, names in lower case without INEXACT_ .unsupported  tuple of Unsupported(module,
 * address, code) .ending     "exit", "limit", "disk", or "cut": no END record, the tool was killed .complete, .events,
 * .producers, .instructions, .threads, .forks
 *
 *   decoded = stream.decode(flow: Flow | None) -> Decoded
 *     `flow` tells what the program's graph looks like, numbered as the caller likes; only functions in zoom mode need
 *     be in it. None: activations, threads and signals are the only regions.
 *       site_block   i4[len(sites)]  block of a site, -1: none
 *       site_head    u1[len(sites)]  1: first instruction of its block
 *       block_ipdom  i4[blocks]      immediate post-dominator, -1: the function's exit
 *       block_loop   i4[blocks]      innermost loop, -1: none
 *       block_branch u1[blocks]      1: more than one successor
 *       loop_header  i4[loops]       header block
 *       loop_parent  i4[loops]       -1: outermost
 *     A branch that is taken again while its arm is open, with no loop around both, closes that arm first (irreducible
 *     loops that are not in the flow).
 *
 *   Decoded, events (arrays of length events + 1; row 0 is "no event")
 *     .site u4, .region u4, .join u1
 *     .first u8[events + 2], .producers u4, .kinds u1: e's are producers[first[e]:first[e + 1]]
 *   Decoded.regions, structured array (row 0 is the root): parent u4, place i4, arm i4, event u4, thread u4, first u4,
 *   instructions u8, began u8, kind i1
 *       kind          place            arm                event
 *      -1 ROOT        -1               -1                 0
 *       0 ACTIVATION  FUNCTION         1: tail call       last call's event in the caller, 0: it has none
 *       1 LOOP        loop             header block       branch that led into it, 0: fell in
 *       2 ITERATION   loop             its number from 0  branch that led here, 0: fell in
 *       3 ARM         branching block  successor block,   the branch
 *                                      -1: jumped to another function
 *       4 THREAD      thread           creator            0 (parent: region that created it)
 *       5 SIGNAL      signal           -1                 0 (parent: the thread)
 *     instructions: of an activation with all that it called, of a thread; else 0. began: of an activation, the
 *     thread's instructions when it opened. first: the first event at or after its opening.
 *     A region's number is larger than its parent's, and regions are numbered in the order in which they open. An arm
 *     whose successor is the branch's post-dominator opens no region, nor does a jump back to a loop's header (that is
 *     an iteration); an arm that leaves a loop is a child of what encloses the loop. A JOIN event belongs to the region
 *     that was open when it happened.
 *   Decoded.heap, structured array, a row for each entry of a function marked `heap`: function i4, thread u4, region
 * u4, event u4 (the next one), argument0 u8, argument1 u8, caller u8 (run-time return address), result u8, returned u1
 *
 * 4. WHERE THE TOOL IS
 *
 * Path(whyperf.collect._dependences.__file__).parent / "valgrind" is what VALGRIND_LIB must name;
 * `dependences-amd64-linux` or `dependences-arm64-linux` is in it if the tool was built, and VERSION holds the version
 * of Valgrind that it was built for. valgrind --tool=dependences --plan=FILE --stream=FILE PROGRAM... FILE may contain
 * %p (process id). If the stream exists already, FILE.1, FILE.2 and so on are written: an exec of the same process must
 * not overwrite what was recorded before. Forked children write nothing unless they exec, and that only with
 * --trace-children=yes.
 */
#endif
