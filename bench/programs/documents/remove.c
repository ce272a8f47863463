// Deletes every record, in the order of the winning plan.
#include "documents.h"

#include "digest.h"

enum { DELETIONS_PER_CHECKPOINT = 25 };

uint64_t remove_all(struct table *table, struct planner *planner, bool downwards) {
    struct cursor *cursor = &planner->plans[planner->winner].cursor;
    uint64_t digest = 0;
    uint32_t deletions = 0;
    bool more = downwards ? cursor_last(cursor) : cursor_first(cursor);
    while (more) {
        const struct record *record = cursor_record(cursor);
        uint32_t id = record->id;
        digest = mix_of(record->name, NAME_BYTES, digest);
        table_delete(table, id);
        planner_restore(planner, id);
        more = cursor_record(cursor) != NULL;
        if (++deletions % DELETIONS_PER_CHECKPOINT == 0) {
            table_checkpoint(table);
        }
    }
    return digest;
}
