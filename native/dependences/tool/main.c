// SPDX-License-Identifier: GPL-2.0-or-later
// `valgrind --tool=dependences --plan=FILE --stream=FILE program`: records what depended on what. See ../stream.h.
#include "activations.h"
#include "events.h"
#include "guest.h"
#include "instrument.h"
#include "output.h"
#include "plan.h"
#include "readers.h"
#include "recording.h"
#include "shadow.h"

static const HChar *plan_path, *stream_path;

static Bool take_option(const HChar *argument) {
    if VG_STR_CLO (argument, "--plan", plan_path) {
    } else if VG_STR_CLO (argument, "--stream", stream_path) {
    } else {
        return False;
    }
    return True;
}

static void print_usage(void) {
    VG_(printf)("    --plan=<file>      which code to record, and how\n"
                "    --stream=<file>    where to write (%%p: process id)\n");
}

static void print_debug_usage(void) {
    VG_(printf)("    (none)\n");
}

static void start(void) {
    if (!plan_path || !stream_path) {
        VG_(fmsg)("whyperf: --plan and --stream are needed\n");
        VG_(exit)(1);
    }
    plan_read(plan_path);
    VG_(clo_vex_control).guest_chase = False;
    VG_(clo_vex_control).iropt_unroll_thresh = 0;
    // Loads whose result nobody uses are dependences all the same; the optimiser would drop them.
    if (plan.zooms)
        VG_(clo_vex_control).iropt_level = 0;
    HChar *path = VG_(expand_file_name)("--stream", stream_path);
    output_open(path);
    VG_(free)(path);
    threads_start();
}

static void finish(Int status) {
    (void)status;
    recording_end(END_EXIT);
}

static void in_forked_child(ThreadId thread) {
    (void)thread;
    recording_abandon();
}

static void in_forking_parent(ThreadId thread) {
    (void)thread;
    if (!recording)
        return;
    put_record(RECORD_FORK);
    // The child must not find half a chunk of its parent's.
    output_flush();
}

static void after_memory_write(CorePart part, ThreadId thread, Addr address, SizeT length) {
    if (!plan.reads || part != Vg_CoreSysCall) {
        shadow_forget(address, length);
        return;
    }
    threads_switch(thread, 0);
    readers_system_call_wrote(address, length);
}

static void after_register_write(CorePart part, ThreadId thread, PtrdiffT offset, SizeT size) {
    (void)part, (void)size;
    threads_switch(thread, 0);
    // System calls return in one register; signal delivery sets several: all of them are nobody's.
    if (offset == GUEST_RESULT)
        for (UInt byte = 0; byte < 8; byte++)
            shadow_registers[CELL_GENERAL + byte] = 0;
    else if (size > 8)
        shadow_forget_registers(thread);
}

static void memory_dies(Addr address, SizeT length) {
    shadow_forget(address, length);
}

static void before_start(void) {
    VG_(details_name)("whyperf-dependences");
    VG_(details_version)("1");
    VG_(details_description)("records which instruction depended on which");
    VG_(details_copyright_author)("The whyperf authors; GPL-2.0-or-later.");
    VG_(details_bug_reports_to)("whyperf");
    VG_(details_avg_translation_sizeB)(700);
    VG_(basic_tool_funcs)(start, instrument, finish);
    VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
    VG_(track_start_client_code)(threads_switch);
    VG_(track_pre_thread_ll_create)(threads_create);
    VG_(track_pre_thread_ll_exit)(threads_exit);
    VG_(track_pre_deliver_signal)(signals_deliver);
    VG_(track_post_deliver_signal)(signals_return);
    VG_(track_post_mem_write)(after_memory_write);
    VG_(track_post_reg_write)(after_register_write);
    VG_(track_copy_mem_remap)(shadow_move);
    VG_(track_die_mem_munmap)(memory_dies);
    VG_(track_die_mem_brk)(memory_dies);
    VG_(atfork)(NULL, in_forking_parent, in_forked_child);
}

VG_DETERMINE_INTERFACE_VERSION(before_start)
