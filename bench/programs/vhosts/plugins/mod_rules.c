// Rewrite rules: patterns are compiled into small programs when they are read.
#include <string.h>

#include "digest.h"
#include "vhosts.h"

enum step_kind { STEP_LETTER, STEP_ANY, STEP_CLASS, STEP_OPEN, STEP_CLOSE, STEP_REPEAT, STEP_ANCHOR };

struct step {
    enum step_kind kind;
    unsigned char letter;
    unsigned char class[32];
};

static size_t compile_class(const char *pattern, struct step *step) {
    size_t at = 1;
    for (; pattern[at] && pattern[at] != ']'; at++) {
        unsigned char from = (unsigned char)pattern[at], to = from;
        if (pattern[at + 1] == '-' && pattern[at + 2]) {
            to = (unsigned char)pattern[at + 2];
            at += 2;
        }
        for (unsigned letter = from; letter <= to; letter++) {
            step->class[letter / 8] |= (unsigned char)(1u << letter % 8);
        }
    }
    return at;
}

static int compile(const char *pattern, struct step *steps, int most) {
    int count = 0;
    for (size_t at = 0; pattern[at] && count < most; at++) {
        struct step *step = &steps[count++];
        memset(step, 0, sizeof *step);
        switch (pattern[at]) {
        case '.':
            step->kind = STEP_ANY;
            break;
        case '(':
            step->kind = STEP_OPEN;
            break;
        case ')':
            step->kind = STEP_CLOSE;
            break;
        case '*':
        case '+':
        case '?':
            step->kind = STEP_REPEAT;
            break;
        case '^':
        case '$':
            step->kind = STEP_ANCHOR;
            break;
        case '[':
            step->kind = STEP_CLASS;
            at += compile_class(pattern + at, step);
            break;
        case '\\':
            at += pattern[at + 1] != 0;
            __attribute__((fallthrough));
        default:
            step->letter = (unsigned char)pattern[at];
        }
    }
    return count;
}

static const char *take_rule(struct configuration *configuration, const struct words *words) {
    struct step steps[64];
    if (!configuration->current) {
        return "a rule belongs to a virtual host";
    }
    int count = compile(words->word[1], steps, 64);
    size_t size = (size_t)count * sizeof *steps;
    struct step *kept = arena_take(&configuration->arena, size + sizeof(uint32_t));
    memcpy(kept, steps, size);
    uint32_t sum = adler_of(steps, size);
    memcpy((char *)kept + size, &sum, sizeof sum);
    configuration->current->rules++;
    return NULL;
}

const struct module *module_of_plugin(void) {
    static const struct directive directives[] = {{"RewriteRule", 2, 4, take_rule}};
    static const struct module module = {"rules", directives, 1, NULL};
    return &module;
}
