// Media types by a file name's end.
#include <string.h>

#include "lookup.h"
#include "vhosts.h"

static struct lookup type_of_end;

static const char *take_type(struct configuration *configuration, const struct words *words) {
    if (!strchr(words->word[1], '/')) {
        return "a media type has a slash";
    }
    for (int i = 2; i < words->count; i++) {
        void **slot = lookup_slot(&type_of_end, words->word[i]);
        if (!*slot) {
            *slot = arena_copy(&configuration->arena, words->word[1], strlen(words->word[1]));
        }
    }
    if (configuration->current) {
        configuration->current->types++;
    }
    return NULL;
}

static void forget(struct configuration *configuration) {
    journal_write(&configuration->journal, JOURNAL_NOTICE, configuration->line, "types", "known",
                  type_of_end.entry_count);
    lookup_free(&type_of_end);
}

const struct module *module_of_plugin(void) {
    static const struct directive directives[] = {
        {"AddEncoding", 2, 4, take_type}, {"AddLanguage", 2, 4, take_type}, {"AddType", 2, 6, take_type}};
    static const struct module module = {"types", directives, 3, forget};
    return &module;
}
