/* Makes a text fit to stand in a page: signs that have a meaning there are replaced, piece by piece. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text_of(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    *length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    if (!text || fread(text, 1, *length, file) != *length)
        exit(1);
    fclose(file);
    text[*length] = 0;
    return text;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: escape FILE LETTERS TIMES\n");
        return 2;
    }
    size_t length, piece = (size_t)atol(argv[2]), replaced = 0;
    char *text = text_of(argv[1], &length);
    guint sum = 0;
    for (int time = 0; time < atoi(argv[3]); time++)
        for (size_t at = 0; at < length; at += piece) {
            GString *part = g_string_new_len(text + at, (gssize)(length - at < piece ? length - at : piece));
            replaced += g_string_replace(part, "&", "&amp;", 0);
            replaced += g_string_replace(part, "<", "&lt;", 0);
            sum = sum * 31 + g_string_hash(part);
            g_string_free(part, TRUE);
        }
    printf("%zu %08x\n", replaced, sum);
    free(text);
    return 0;
}
