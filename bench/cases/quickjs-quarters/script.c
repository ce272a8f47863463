// Runs a script: nothing but QuickJS and one function that prints.
#include <quickjs.h>
#include <stdio.h>
#include <stdlib.h>

static JSValue print(JSContext *context, JSValueConst self, int count, JSValueConst *values) {
    (void)self;
    for (int i = 0; i < count; i++) {
        const char *text = JS_ToCString(context, values[i]);
        puts(text ? text : "?");
        JS_FreeCString(context, text);
    }
    return JS_UNDEFINED;
}

static char *content_of(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    *size = (size_t)ftell(file);
    char *text = calloc(1, *size + 1);
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
    JSRuntime *runtime = JS_NewRuntime();
    JSContext *context = JS_NewContext(runtime);
    JSValue global = JS_GetGlobalObject(context);
    JS_SetPropertyStr(context, global, "print", JS_NewCFunction(context, print, "print", 1));
    JSValue result = JS_Eval(context, text, size, argv[1], JS_EVAL_TYPE_GLOBAL);
    const int failed = JS_IsException(result);
    if (failed) {
        JSValue problem = JS_GetException(context);
        print(context, global, 1, &problem);
        JS_FreeValue(context, problem);
    }
    JS_FreeValue(context, result);
    JS_FreeValue(context, global);
    JS_FreeContext(context);
    JS_FreeRuntime(runtime);
    free(text);
    return failed;
}
