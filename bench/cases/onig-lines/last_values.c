/* Looks for the last value of a setting in lines of a log, and prints how many lines have one. */
#include <oniguruma.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static char line[1 << 16];
    const UChar *pattern = (const UChar *)".*limit=([0-9]+);";
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    regex_t *compiled;
    OnigErrorInfo error;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file)
        return 1;
    onig_initialize(encodings, 1);
    if (onig_new(&compiled, pattern, pattern + strlen((const char *)pattern), ONIG_OPTION_DEFAULT, encodings[0],
                 ONIG_SYNTAX_DEFAULT, &error) != ONIG_NORMAL)
        return 1;
    long found = 0;
    while (fgets(line, sizeof line, file)) {
        const UChar *start = (const UChar *)line, *end = start + strcspn(line, "\n");
        found += onig_search(compiled, start, end, start, end, NULL, ONIG_OPTION_NONE) >= 0;
    }
    fclose(file);
    printf("%ld\n", found);
    onig_free(compiled);
    onig_end();
    return 0;
}
