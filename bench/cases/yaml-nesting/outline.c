// Loads YAML documents: outlines in flow style, each with as many entries and brackets. How deeply they are nested
// is all that differs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { LISTS = 6000 };

struct text {
    char *start, *end;
};

static void add(struct text *text, const char *words) {
    size_t length = strlen(words);
    memcpy(text->end, words, length);
    text->end += length;
}

// `LISTS` lists, one inside the other down to `depth`, then from the top again.
static struct text outline(int depth) {
    char *start = malloc(LISTS * 64);
    struct text text = {start, start};
    add(&text, "title: outline\nlists: [\n");
    for (int open = 0; open < LISTS; open += depth) {
        for (int level = 0; level < depth; level++) {
            add(&text, "[ {name: entry, size: 12},\n");
        }
        for (int level = 0; level < depth; level++) {
            add(&text, level < depth - 1 ? "last ],\n" : "last ]");
        }
        add(&text, ",\n");
    }
    add(&text, "end ]\n");
    return text;
}

static unsigned long load(const struct text *text) {
    yaml_parser_t parser;
    yaml_event_t event;
    unsigned long scalars = 0;
    int done = 0;
    if (!yaml_parser_initialize(&parser)) {
        exit(1);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text->start, (size_t)(text->end - text->start));
    while (!done) {
        if (!yaml_parser_parse(&parser, &event)) {
            fprintf(stderr, "outline: %s at line %zu\n", parser.problem, parser.problem_mark.line + 1);
            exit(1);
        }
        done = event.type == YAML_STREAM_END_EVENT;
        scalars += event.type == YAML_SCALAR_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return scalars;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: outline DEPTH TIMES\n");
        return 2;
    }
    struct text text = outline(atoi(argv[1]));
    unsigned long scalars = 0;
    for (int k = 0; k < atoi(argv[2]); k++) {
        scalars += load(&text);
    }
    printf("%lu scalars\n", scalars);
    free(text.start);
    return 0;
}
