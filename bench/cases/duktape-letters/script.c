// Runs a script: nothing but Duktape and one function that prints.
#include <duktape.h>
#include <stdio.h>
#include <stdlib.h>

static duk_ret_t print(duk_context *context) {
    puts(duk_safe_to_string(context, 0));
    return 0;
}

static char *content_of(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    *size = (size_t)ftell(file);
    char *text = malloc(*size + 1);
    rewind(file);
    if (!text || fread(text, 1, *size, file) != *size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: script FILE\n");
        return 2;
    }
    size_t size = 0;
    char *text = content_of(argv[1], &size);
    duk_context *context = duk_create_heap_default();
    duk_push_c_function(context, print, 1);
    duk_put_global_string(context, "print");
    const int failed = duk_peval_lstring(context, text, size);
    if (failed)
        fprintf(stderr, "%s\n", duk_safe_to_string(context, -1));
    duk_destroy_heap(context);
    free(text);
    return failed;
}
