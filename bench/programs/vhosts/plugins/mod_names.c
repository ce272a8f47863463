// Virtual hosts: their addresses, ports and names.
#include <string.h>

#include "vhosts.h"

static const char *take_host(struct configuration *configuration, const struct words *words) {
    uint64_t port;
    if (!read_number(words->word[2], &port) || port > 65535) {
        return "a port is a number up to 65535";
    }
    struct host *host = arena_take(&configuration->arena, sizeof *host);
    host->address = arena_copy(&configuration->arena, words->word[1], strlen(words->word[1]));
    host->port = (uint32_t)port;
    host->line = configuration->line;
    *configuration->last = host;
    configuration->last = &host->next;
    configuration->current = host;
    configuration->host_count++;
    return NULL;
}

// Looks for an earlier host that would answer in this one's stead; from the first host on, for every host.
static const struct host *find_overlap(const struct configuration *configuration, const struct host *wanted,
                                       const char *name) {
    uint32_t compared = 0;
    for (const struct host *host = configuration->hosts; host && host != wanted; host = host->next) {
        compared++;
        if (host->port == wanted->port && host->name && compare_caseless(host->name, name) == 0) {
            return host;
        }
    }
    return compared == configuration->host_count ? wanted : NULL;
}

static const char *take_name(struct configuration *configuration, const struct words *words) {
    struct host *host = configuration->current;
    if (!host) {
        return "a name belongs to a virtual host";
    }
    if (find_overlap(configuration, host, words->word[1])) {
        return "another host has this name and port";
    }
    host->name = arena_copy(&configuration->arena, words->word[1], strlen(words->word[1]));
    return NULL;
}

static const char *take_root(struct configuration *configuration, const struct words *words) {
    if (!configuration->current) {
        return "a document root belongs to a virtual host";
    }
    configuration->current->root = arena_copy(&configuration->arena, words->word[1], strlen(words->word[1]));
    return NULL;
}

static void report(struct configuration *configuration) {
    for (const struct host *host = configuration->hosts; host; host = host->next) {
        const char *name = host->name ? host->name : host->address;
        journal_write(&configuration->journal, JOURNAL_NOTICE, host->line, name, "rules", (uint64_t)host->rules);
    }
}

const struct module *module_of_plugin(void) {
    static const struct directive directives[] = {
        {"VirtualHost", 2, 2, take_host}, {"ServerName", 1, 1, take_name}, {"DocumentRoot", 1, 1, take_root}};
    static const struct module module = {"names", directives, 3, report};
    return &module;
}
