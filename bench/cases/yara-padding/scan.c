// Scans a file with the rules of another one.
#include <stdio.h>
#include <yara.h>

static int report(YR_SCAN_CONTEXT *context, int message, void *data, void *count) {
    (void)context;
    (void)data;
    if (message == CALLBACK_MSG_RULE_MATCHING)
        ++*(int *)count;
    return CALLBACK_CONTINUE;
}

int main(int argc, char **argv) {
    if (argc != 3 || yr_initialize() != ERROR_SUCCESS)
        return 2;
    YR_COMPILER *compiler;
    YR_RULES *rules;
    FILE *file = fopen(argv[1], "r");
    if (!file || yr_compiler_create(&compiler) != ERROR_SUCCESS || yr_compiler_add_file(compiler, file, NULL, NULL) != 0 ||
        yr_compiler_get_rules(compiler, &rules) != ERROR_SUCCESS)
        return 2;
    int matching = 0;
    const int failed = yr_rules_scan_file(rules, argv[2], 0, report, &matching, 0);
    printf("%d rules match\n", matching);
    yr_rules_destroy(rules);
    yr_compiler_destroy(compiler);
    yr_finalize();
    fclose(file);
    return failed != ERROR_SUCCESS;
}
