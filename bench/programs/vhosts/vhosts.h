// A web server's start: its configuration is read line by line, and modules, loaded at run time, take the directives.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "journal.h"
#include "words.h"

struct host {
    struct host *next;
    const char *name, *address, *root;
    uint32_t port, line;
    int rules, types;
};

struct configuration {
    struct arena arena;
    struct host *hosts, **last;
    struct host *current;
    uint32_t host_count, line, errors;
    struct journal journal;
};

struct directive {
    const char *name;
    int least, most;                                                                     // words after the name
    const char *(*take)(struct configuration *configuration, const struct words *words); // what is wrong, or NULL
};

struct module {
    const char *name;
    const struct directive *directives;
    int count;
    void (*finish)(struct configuration *configuration);
};

// Every plug-in defines this.
typedef const struct module *module_entry(void);

struct modules {
    const struct module *module[8];
    int count;
};

bool load_modules(struct modules *modules, const char *program);
void make_configuration(struct buffer *text, uint32_t hosts, uint32_t lines_each);
void read_configuration(struct configuration *configuration, const struct modules *modules, const char *text,
                        size_t size);
