/* Counts the lines of a log that match a regular expression, and those that match a simple one. */
#include <pcre.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pcre *compiled(const char *pattern) {
    const char *error;
    int at;
    pcre *code = pcre_compile(pattern, 0, &error, &at, NULL);
    if (!code) {
        fprintf(stderr, "warnings: %s at %d\n", error, at);
        exit(1);
    }
    return code;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: warnings FILE PATTERN SIMPLE\n");
        return 2;
    }
    FILE *file = fopen(argv[1], "r");
    if (!file)
        return 1;
    pcre *code = compiled(argv[2]), *simple = compiled(argv[3]);
    static char line[4096];
    int found[2] = {0, 0}, places[30];
    while (fgets(line, sizeof line, file)) {
        int length = (int)strcspn(line, "\n");
        found[0] += pcre_exec(code, NULL, line, length, 0, 0, places, 30) >= 0;
        for (int at = 0; pcre_exec(simple, NULL, line, length, at, 0, places, 30) >= 0; at = places[1])
            found[1]++;
    }
    fclose(file);
    printf("%d %d\n", found[0], found[1]);
    return 0;
}
