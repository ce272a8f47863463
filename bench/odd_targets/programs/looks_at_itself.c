// Prints what it finds out about itself: arguments, environment, auxiliary vector, its own mappings, limits, signals.
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "work.h"

extern char **environ;

static void print_file(const char *path) {
    FILE *file = fopen(path, "r");
    MUST(file);
    int byte;
    while ((byte = getc(file)) != EOF) {
        putchar(byte ? byte : '\n');
    }
    fclose(file);
    putchar('\n');
}

static void print_lines(const char *path, const char *const *beginnings) {
    FILE *file = fopen(path, "r");
    MUST(file);
    char line[4096];
    while (fgets(line, sizeof line, file)) {
        for (const char *const *one = beginnings; *one; one++) {
            if (strncmp(line, *one, strlen(*one)) == 0) {
                fputs(line, stdout);
            }
        }
    }
    fclose(file);
}

int main(int argc, char **argv) {
    burn(0.05);
    for (int i = 0; i < argc; i++) {
        printf("%s\n", argv[i]);
    }
    for (char **one = environ; *one; one++) {
        puts(*one);
    }
    print_file("/proc/self/cmdline");
    print_file("/proc/self/comm");
    print_file("/proc/self/limits");
    print_file("/proc/self/oom_score_adj");
    print_file("/proc/self/timerslack_ns");
    const char *const wanted[] = {
        "Name",   "Umask",  "State",  "Tgid:\t0", "Uid",    "Gid",    "Groups", "Threads",           "SigPnd",
        "ShdPnd", "SigBlk", "CapInh", "CapPrm",   "CapEff", "CapBnd", "CapAmb", "Cpus_allowed_list", NULL};
    print_lines("/proc/self/status", wanted);
    // Not those that the C library keeps for itself: posix_spawn() of glibc ignores them in every child.
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction told;
        if (sigaction(number, NULL, &told) == 0 && told.sa_handler != SIG_DFL) {
            printf("signal %d is not as it was\n", number);
        }
    }
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    MUST(length > 0);
    own[length] = 0;
    printf("exe %s execfn %s\n", own, (char *)getauxval(AT_EXECFN));
    printf("secure %lu page %lu phnum %lu\n", getauxval(AT_SECURE), getauxval(AT_PAGESZ), getauxval(AT_PHNUM));
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], permissions[8];
    while (fgets(line, sizeof line, maps)) {
        if (strstr(line, own) && sscanf(line, "%*s %7s", permissions) == 1) {
            printf("mapped %s\n", permissions);
        }
    }
    fclose(maps);
    int descriptors = open_descriptors();
    printf("open %d, nice %d, session %d\n", descriptors, getpriority(PRIO_PROCESS, 0), getsid(0) == getpid());
    return 0;
}
