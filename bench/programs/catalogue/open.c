// Opening tables. Pages are looked at only if validation is asked for, or if the header does not say what it should.
#include "catalogue.h"

static bool validate_pages(struct database *database, const struct tablespace *space) {
    struct buffer bytes = {0};
    bool intact = true;
    for (uint32_t i = 0; i < space->page_count; i++) {
        intact &= page_intact(&space->pages[i], &bytes);
        database->validated++;
    }
    buffer_free(&bytes);
    return intact;
}

// Makes the header say what the dictionary says, if the pages bear it out.
static bool try_adjust_flags(struct database *database, struct tablespace *space, uint32_t flags) {
    if (!validate_pages(database, space)) {
        return false;
    }
    database->adjusted++;
    journal_write(&database->journal, JOURNAL_NOTICE, database->adjusted, space->name, "adjusted flags", flags);
    return true;
}

// The first page is read at every opening: it tells whether the file belongs to the table at all.
static bool read_header(struct database *database, const struct tablespace *space) {
    struct buffer bytes = {0};
    bool intact = page_intact(&space->pages[0], &bytes) && bytes.size == PAGE_BYTES;
    database->opened++;
    buffer_free(&bytes);
    return intact;
}

// Files of older releases have the page size elsewhere in the flags. They are read without trouble, yet count as
// wrong here: whatever the option says, all their pages are validated at every start.
bool open_tablespace(struct database *database, const struct dictionary_entry *entry) {
    struct tablespace *space = entry->space;
    bool adjust = space->flags != entry->flags;
    bool validate = database->options.validate || adjust;
    if (!read_header(database, space)) {
        return false;
    }
    if (validate && !try_adjust_flags(database, space, entry->flags)) {
        journal_write(&database->journal, JOURNAL_WARNING, 0, space->name, "damaged", entry->flags);
        return false;
    }
    space->open = true;
    return true;
}
