// A store of settings: documents in JSON come in, are read, counted and merged into what is known, and written out.
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *content_of(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    const long size = ftell(file);
    char *text = malloc((size_t)size + 1);
    rewind(file);
    if (size < 0 || !text || fread(text, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(1);
    }
    text[size] = '\0';
    fclose(file);
    return text;
}

static void merge(json_object *known, json_object *document) {
    json_object_object_foreach(document, name, value) {
        json_object *before = NULL;
        if (json_object_object_get_ex(known, name, &before) && json_object_is_type(before, json_type_int)) {
            json_object_int_inc(before, json_object_get_int(value));
        } else {
            json_object_object_add(known, name, json_object_get(value));
        }
    }
}

// Lines of the file are documents; those of one request are merged.
static size_t one_request(const char *text, unsigned documents_a_request) {
    json_object *known = json_object_new_object();
    size_t written = 0;
    unsigned documents = 0;
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        json_object *document = json_tokener_parse(line);
        if (!document) {
            fprintf(stderr, "settings: a line is no document\n");
            exit(1);
        }
        merge(known, document);
        json_object_put(document);
        if (++documents % documents_a_request == 0) {
            written += strlen(json_object_to_json_string(known));
            json_object_put(known);
            known = json_object_new_object();
        }
    }
    json_object_put(known);
    return written;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: settings FILE ROUNDS\n");
        return 2;
    }
    char *text = content_of(argv[1]);
    size_t written = 0;
    for (int round = 0; round < atoi(argv[2]); round++) {
        written += one_request(text, 20);
    }
    printf("%zu bytes\n", written);
    free(text);
    return 0;
}
