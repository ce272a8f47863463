// Query plans: each index is a plan; a trial finds the best. All of them stay, in case that the data changes.
#include "documents.h"

#include <string.h>

void planner_open(struct planner *planner, struct table *table, const struct index *indexes, int index_count) {
    memset(planner, 0, sizeof *planner);
    planner->plan_count = index_count;
    for (int number = 0; number < index_count; number++) {
        cursor_open(&planner->plans[number].cursor, table, &indexes[number]);
    }
}

static bool matches(const struct record *record) {
    return record->created >= 1600000000 && record->name[0] == 'o';
}

static void try_plan(struct plan *plan, uint32_t works) {
    bool more = cursor_first(&plan->cursor);
    while (more && plan->advanced < works) {
        const struct record *record = cursor_record(&plan->cursor);
        plan->advanced++;
        plan->returned += matches(record);
        plan->cursor.place++;
        more = plan->cursor.place < (int32_t)plan->cursor.index->count;
    }
    plan->score = plan->advanced ? (double)plan->returned / plan->advanced : 0;
}

void planner_choose(struct planner *planner, uint32_t works) {
    for (int number = 0; number < planner->plan_count; number++) {
        try_plan(&planner->plans[number], works);
        if (planner->plans[number].score > planner->plans[planner->winner].score) {
            planner->winner = number;
        }
    }
}

void planner_restore(struct planner *planner, uint32_t near_id) {
    for (int number = 0; number < planner->plan_count; number++) {
        cursor_search(&planner->plans[number].cursor, near_id);
    }
}
