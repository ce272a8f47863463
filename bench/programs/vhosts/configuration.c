// Configuration text: made for the benchmark, and read.
#include <string.h>

#include "roll.h"
#include "vhosts.h"

static void add_rule(struct buffer *text, uint32_t *state) {
    static const char *const patterns[] = {"^/old/(.*)$", "^/shop/([0-9]+)/?$", "\\.php$", "^/~([a-z]+)/"};
    buffer_text(text, "  rewriterule ");
    buffer_quoted(text, patterns[roll_below(state, 4)]);
    buffer_text(text, " /new/");
    buffer_number(text, roll_below(state, 1000));
    buffer_text(text, roll_below(state, 2) ? " last\n" : " redirect\n");
}

static void add_type(struct buffer *text, uint32_t *state) {
    static const char *const types[] = {"text/html html htm", "image/png png", "application/json json map"};
    buffer_text(text, "  AddType ");
    buffer_text(text, types[roll_below(state, 3)]);
    buffer_text(text, " # as the browser likes it\n");
}

void make_configuration(struct buffer *text, uint32_t hosts, uint32_t lines_each) {
    uint32_t state = 31;
    for (uint32_t host = 0; host < hosts; host++) {
        buffer_text(text, "VirtualHost 10.1.");
        buffer_number(text, host / 200 % 200);
        buffer_text(text, ".");
        buffer_number(text, host % 200 + 1);
        buffer_text(text, roll_below(&state, 8) ? " 443\n" : " 80\n");
        buffer_text(text, "  ServerName www");
        buffer_number(text, host);
        buffer_text(text, ".customers.example\n  DocumentRoot \"/srv/www/customers/");
        buffer_number(text, host);
        buffer_text(text, "/public\"\n");
        for (uint32_t line = 0; line < lines_each; line++) {
            (line % 2 ? add_rule : add_type)(text, &state);
        }
    }
}

static const struct directive *find_directive(const struct modules *modules, const char *name) {
    for (int i = 0; i < modules->count; i++) {
        const struct module *module = modules->module[i];
        for (int j = 0; j < module->count; j++) {
            if (compare_caseless(module->directives[j].name, name) == 0) {
                return &module->directives[j];
            }
        }
    }
    return NULL;
}

static const char *take_line(struct configuration *configuration, const struct modules *modules,
                             const struct words *words) {
    const struct directive *directive = find_directive(modules, words->word[0]);
    if (!directive) {
        return "no module knows this directive";
    }
    int given = words->count - 1;
    if (given < directive->least || given > directive->most) {
        return "too few or too many words";
    }
    return directive->take(configuration, words);
}

void read_configuration(struct configuration *configuration, const struct modules *modules, const char *text,
                        size_t size) {
    const char *end = text + size;
    struct arena line_arena = {0};
    configuration->last = &configuration->hosts;
    for (const char *at = text; at < end; at = line_end(at, end) + 1) {
        struct words words;
        const char *wrong = NULL;
        configuration->line++;
        if (!split_words(at, (size_t)(line_end(at, end) - at), &line_arena, &words)) {
            wrong = "a quote is open";
        } else if (words.count) {
            wrong = take_line(configuration, modules, &words);
        }
        if (wrong) {
            configuration->errors++;
            journal_write(&configuration->journal, JOURNAL_WARNING, configuration->line, wrong, "line",
                          configuration->line);
        }
        if (line_arena.total > 1 << 20) {
            arena_clear(&line_arena);
        }
    }
    arena_clear(&line_arena);
    for (int i = 0; i < modules->count; i++) {
        if (modules->module[i]->finish) {
            modules->module[i]->finish(configuration);
        }
    }
}
