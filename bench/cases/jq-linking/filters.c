// Runs many small jq filters on a few documents each, as scripts do that start jq for every line.
#include <jq.h>
#include <jv.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const filters[] = {
    ".name",
    "[.items[] | select(.price > 40) | .name] | length",
    ".items | map(.price) | add",
    ".items | group_by(.price % 3) | map(length)",
    "[paths] | length",
};
enum { FILTERS = sizeof filters / sizeof *filters, DOCUMENTS = 10, ITEMS = 400 };

static jv document(int seed) {
    jv items = jv_array();
    for (int k = 0; k < ITEMS; k++) {
        jv item = jv_object();
        item = jv_object_set(item, jv_string("name"), jv_string_fmt("item %d", k * 7 + seed));
        item = jv_object_set(item, jv_string("price"), jv_number(k * 31 % 97 + seed));
        items = jv_array_append(items, item);
    }
    jv found = jv_object_set(jv_object(), jv_string("name"), jv_string_fmt("document %d", seed));
    return jv_object_set(found, jv_string("items"), items);
}

static size_t run(const char *filter, jv *documents) {
    jq_state *jq = jq_init();
    size_t size = 0;
    if (!jq || !jq_compile(jq, filter)) {
        fprintf(stderr, "filters: cannot compile %s\n", filter);
        exit(1);
    }
    for (int k = 0; k < DOCUMENTS; k++) {
        jq_start(jq, jv_copy(documents[k]), 0);
        jv result = jq_next(jq);
        while (jv_is_valid(result)) {
            jv text = jv_dump_string(result, 0);
            size += (size_t)jv_string_length_bytes(text);
            result = jq_next(jq);
        }
        jv_free(result);
    }
    jq_teardown(&jq);
    return size;
}

int main(int argc, char **argv) {
    jv documents[DOCUMENTS];
    size_t size = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: filters TIMES\n");
        return 2;
    }
    for (int k = 0; k < DOCUMENTS; k++) {
        documents[k] = document(k);
    }
    for (int k = 0; k < atoi(argv[1]); k++) {
        size += run(filters[k % FILTERS], documents);
    }
    for (int k = 0; k < DOCUMENTS; k++) {
        jv_free(documents[k]);
    }
    printf("%zu bytes\n", size);
    return 0;
}
