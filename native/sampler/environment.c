// The two variables that carry us from program to program: out of the program's sight, back for those it starts.
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "sampler/sampler.h"

static const char preload_name[] = "LD_PRELOAD=";
static const char session_name[] = WHYPERF_ENV_SESSION "=";

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Takes the sampler's own path, and what the recorder had to put before it, out of a list separated by colons or
// blanks; true when nothing is left.
static bool drop_own_library(char *list) {
    static const char separators[] = ": ";
    Dl_info self;
    if (!dladdr((const void *)drop_own_library, &self) || !self.dli_fname)
        return false;
    size_t length = strlen(self.dli_fname);
    for (char *item = list; *item; item += strspn(item, separators)) {
        size_t item_length = strcspn(item, separators);
        if (item_length == length && strncmp(item, self.dli_fname, length) == 0) {
            char *rest = item + length + strspn(item + length, separators);
            memmove(list, rest, strlen(rest) + 1);
            break;
        }
        item += item_length;
    }
    return *list == '\0';
}

void environment_hide(char **environment) {
    char **out = environment;
    for (char **in = environment; in && *in; in++) {
        if (starts_with(*in, session_name))
            continue;
        if (starts_with(*in, preload_name) && drop_own_library(*in + sizeof preload_name - 1))
            continue;
        *out++ = *in;
    }
    if (out)
        *out = NULL;
}

struct environment_plan environment_plan(char *const environment[]) {
    struct environment_plan plan = {.preload = ""};
    for (; environment && environment[plan.entries]; plan.entries++)
        if (starts_with(environment[plan.entries], preload_name))
            plan.preload = environment[plan.entries] + sizeof preload_name - 1;
    plan.preload_bytes = strlen(plan.preload);
    plan.text_bytes = sizeof preload_name + strlen(this_process.session->library) + 1 + plan.preload_bytes +
                      sizeof session_name + strlen(this_process.session_path);
    plan.entries += 3;
    return plan;
}

// Copies the array with our two variables first. A program that set the session itself starts another recorder's
// target: that one is left as it is. Other threads may change the array meanwhile: it may have become shorter.
void environment_fill(struct environment_plan plan, char *const environment[], char **entries, char *text) {
    size_t count = 2;
    for (size_t i = 0; i + 3 < plan.entries; i++) {
        char *entry = __atomic_load_n(&environment[i], __ATOMIC_RELAXED);
        if (!entry)
            break;
        if (!starts_with(entry, preload_name))
            entries[count++] = entry;
    }
    entries[count] = NULL;
    char *at = text;
    entries[0] = at;
    at = stpcpy(stpcpy(at, preload_name), this_process.session->library);
    if (plan.preload_bytes) {
        *at++ = ':';
        at = mempcpy(at, plan.preload, strnlen(plan.preload, plan.preload_bytes));
    }
    *at++ = '\0';
    entries[1] = at;
    stpcpy(stpcpy(at, session_name), this_process.session_path);
}

bool environment_names_session(char *const environment[]) {
    for (; environment && *environment; environment++)
        if (starts_with(*environment, session_name))
            return true;
    return false;
}
