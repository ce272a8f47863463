// Keeping the cost of recording within its budget, on each CPU for itself.
//
// Every 16th run of a program is timed and stands for 16. The budget is a share of the time; what is spent beyond it is
// a debt, and a burst of it is allowed, so that a program which begins, or works now and then, is recorded as a whole.
// When the debt is as large as that and the budget of a window of 100 ms, the next level is shed at once, and one or
// two more with it where many times the budget are being spent; it then is half of that budget below its limit. When
// many windows in a row cost less than half of theirs, a level is taken back, and the longer that did not last, the
// longer the next attempt waits.
#ifndef WHYPERF_TRACER_GOVERNOR_H
#define WHYPERF_TRACER_GOVERNOR_H

#include "bpf/maps.h"

enum {
    GOVERNOR_TIMED = 16,
    GOVERNOR_ENTRY_COST = 80, // nanoseconds an event costs before and after the program, and in those that only look
    GOVERNOR_QUICK_COST = 50, // a system call that is left out, all in all
    GOVERNOR_LONGEST = 50000, // a program interrupted for longer is not charged for it
    GOVERNOR_PATIENCE = 3,    // windows
    GOVERNOR_MOST_PATIENCE = 40,
};
#define GOVERNOR_WINDOW 100000000ull

static __always_inline void shed_to(struct trace_cpu *cpu, u32 number, u64 time, u32 level) {
    u32 key = __sync_fetch_and_add(&globals.shed_changes, 1) % TRACE_SHED_LOG;
    struct trace_shed_change *change = bpf_map_lookup_elem(&wp_shed, &key);
    if (change) {
        change->time = time;
        change->cpu = number;
        change->before = (u16)cpu->level;
        change->after = (u16)level;
    }
    cpu->level = level;
    cpu->calm = 0;
    cpu->window_cost = 0;
    cpu->window_start = time;
    cpu->debt = settings.shed_burst + settings.shed_budget / 2;
}

static __always_inline void close_window(struct trace_cpu *cpu, u32 number, u64 now, u64 elapsed) {
    // Windows without a timed event were calm too.
    u64 windows = elapsed / GOVERNOR_WINDOW;
    bool calm = cpu->window_cost < settings.shed_budget / 2 * windows;
    cpu->window_cost = 0;
    cpu->window_start = now;
    if (!calm) {
        cpu->calm = 0;
        return;
    }
    cpu->calm += windows < GOVERNOR_MOST_PATIENCE ? (u32)windows : GOVERNOR_MOST_PATIENCE;
    if (cpu->level > settings.shed_floor && cpu->calm >= cpu->patience)
        shed_to(cpu, number, now, cpu->level - 1);
    else if (cpu->calm > GOVERNOR_MOST_PATIENCE)
        cpu->patience = GOVERNOR_PATIENCE;
}

// A storm is met in few steps, since each of them costs a budget: how far to go is told by what this window, so long as
// it is, has cost beside its part of the budget.
static __always_inline u32 next_level(const struct trace_cpu *cpu, u64 elapsed) {
    u64 part = elapsed / 1024 * settings.shed_budget / (GOVERNOR_WINDOW / 1024);
    u32 level = cpu->level + (cpu->window_cost > 4 * part ? 3 : cpu->window_cost > 2 * part ? 2 : 1);
    return level < TRACE_SHED_LEVELS ? level : TRACE_SHED_LEVELS - 1;
}

// What the calls cost that were left out since the last time.
static __always_inline u64 quick_cost(struct trace_cpu *cpu) {
    u64 calls = cpu->counters[TRACE_COUNT_QUICK_CALLS];
    u64 cost = (calls - cpu->quick_calls) * GOVERNOR_QUICK_COST;
    cpu->quick_calls = calls;
    return cost;
}

// What reading those costs that were recorded since the last time: not every run of a program records something.
static __always_inline u64 reading_cost(struct trace_cpu *cpu) {
    u64 head = cpu->head, cost = (head - cpu->records_read) * settings.read_cost;
    cpu->records_read = head;
    return cost;
}

static __always_inline void owe(struct trace_cpu *cpu, u64 now, u64 cost) {
    u64 passed = now > cpu->settled ? now - cpu->settled : 0;
    if (passed > GOVERNOR_WINDOW * GOVERNOR_MOST_PATIENCE)
        passed = GOVERNOR_WINDOW * GOVERNOR_MOST_PATIENCE;
    u64 saved = passed / 1024 * settings.shed_budget / (GOVERNOR_WINDOW / 1024);
    cpu->settled = now;
    cpu->debt += cost;
    cpu->debt -= saved < cpu->debt ? saved : cpu->debt;
}

static __always_inline void govern(struct trace_cpu *cpu, u32 number, u64 began) {
    if (++cpu->untimed < GOVERNOR_TIMED)
        return;
    cpu->untimed = 0;
    u64 now = bpf_ktime_get_ns();
    u64 took = now - began;
    if (took > GOVERNOR_LONGEST)
        took = GOVERNOR_LONGEST;
    u64 cost = GOVERNOR_TIMED * (took + GOVERNOR_ENTRY_COST) + quick_cost(cpu);
    cpu->cost += cost;
    if (!settings.shed_budget)
        return;
    cost += reading_cost(cpu);
    cpu->window_cost += cost;
    owe(cpu, now, cost);
    u64 elapsed = now - cpu->window_start;
    u64 most = settings.shed_burst + settings.shed_budget;
    if (cpu->debt > most && cpu->level + 1 < TRACE_SHED_LEVELS) {
        if (!cpu->patience)
            cpu->patience = GOVERNOR_PATIENCE;
        else if (cpu->calm < cpu->patience && cpu->patience < GOVERNOR_MOST_PATIENCE)
            cpu->patience *= 2;
        shed_to(cpu, number, now, next_level(cpu, elapsed));
    } else {
        // Where nothing is left to shed, a storm must not be paid for long after it.
        if (cpu->debt > most)
            cpu->debt = most;
        if (elapsed >= GOVERNOR_WINDOW)
            close_window(cpu, number, now, elapsed);
    }
}

// At the last level switches and wakings are recorded in bursts, 6 of every 64 ticks. Asked before anything else is
// done.
static __always_inline bool between_bursts(u32 level) {
    return level >= TRACE_SHED_MOST_SWITCHES && bpf_jiffies64() % 64 >= 6;
}

#endif
