#include "tracer/counters.h"

#include <bpf/bpf.h>

// The kernel skips a program while another instance of it is under way on the CPU.
static u64 missed_runs(const struct tracer *tracer) {
    u64 missed = 0;
    for (u32 i = 0; i < tracer->program_count; i++) {
        struct bpf_prog_info info = {0};
        u32 length = sizeof info;
        if (bpf_obj_get_info_by_fd(tracer->program_fds[i], &info, &length) == 0)
            missed += info.recursion_misses;
    }
    return missed;
}

static u64 sum(const struct tracer *tracer, u32 counter) {
    u64 total = 0;
    for (u32 cpu = 0; cpu < tracer->settings->cpus; cpu++)
        total += tracer_cpu(tracer, cpu)->counters[counter];
    return total;
}

u32 tracer_counters(const struct tracer *tracer, struct named_count counts[NAMED_COUNTS]) {
    static const char *const CUT_NAMES[] = {
        "", "cut_no_module", "cut_no_row", "cut_rule", "cut_register", "cut_unreadable", "cut_no_progress", "cut_depth",
    };
    const struct module_server *server = &tracer->server;
    u64 records = 0, bytes = 0, tables = 0, cost = 0;
    u32 count = 0, level = 0;
    for (u32 cpu = 0; cpu < tracer->settings->cpus; cpu++) {
        const struct trace_cpu *state = tracer_cpu(tracer, cpu);
        records += state->head;
        bytes += state->stack_head;
        cost += state->cost;
        level = state->level > level ? state->level : level;
    }
    counts[count++] = (struct named_count){"events", records};
    counts[count++] = (struct named_count){"cost_ns", cost};
    counts[count++] = (struct named_count){"events_lost", tracer->records_lost};
    counts[count++] =
        (struct named_count){"runs_missed", missed_runs(tracer) + sum(tracer, TRACE_COUNT_TOO_DEEP_NESTING)};
    counts[count++] = (struct named_count){"stacks_taken", sum(tracer, TRACE_COUNT_STACKS)};
    counts[count++] = (struct named_count){"stacks_again", sum(tracer, TRACE_COUNT_STACKS_AGAIN)};
    counts[count++] = (struct named_count){"stacks_kept", sum(tracer, TRACE_COUNT_STACKS_KEPT)};
    counts[count++] = (struct named_count){"stack_numbers", tracer->globals->stack_numbers};
    counts[count++] = (struct named_count){"stacks_received", tracer->stacks_received};
    counts[count++] = (struct named_count){"stack_bytes", bytes};
    counts[count++] = (struct named_count){"stack_bytes_lost", tracer->stack_bytes_lost};
    for (u32 reason = 1; reason < sizeof CUT_NAMES / sizeof *CUT_NAMES; reason++)
        counts[count++] = (struct named_count){CUT_NAMES[reason], sum(tracer, TRACE_COUNT_CUT + reason)};
    counts[count++] = (struct named_count){"stacks_before_modules", sum(tracer, TRACE_COUNT_NO_PROCESS)};
    counts[count++] = (struct named_count){"notices_lost", sum(tracer, TRACE_COUNT_NOTICES_LOST)};
    counts[count++] = (struct named_count){"tasks_lost", sum(tracer, TRACE_COUNT_TASKS_LOST)};
    counts[count++] = (struct named_count){"quick_calls", sum(tracer, TRACE_COUNT_QUICK_CALLS)};
    counts[count++] = (struct named_count){"processes_without_room",
                                           sum(tracer, TRACE_COUNT_PROCESSES_FULL) + server->mappings_without_room};
    for (const struct installed_table *table = server->installed; table; table = table->next)
        tables++;
    counts[count++] = (struct named_count){"unwind_tables", tables};
    counts[count++] = (struct named_count){"modules_without_room", server->modules_without_room};
    counts[count++] = (struct named_count){"rules_without_room", server->rules_without_room};
    counts[count++] = (struct named_count){"unreadable_processes", server->unreadable_processes};
    counts[count++] = (struct named_count){"shed_level", level};
    counts[count++] = (struct named_count){"shed_changes", tracer->globals->shed_changes};
    return count;
}
