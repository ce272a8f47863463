// A number that is read from the last of several files, all by the same call: WAY OTHER FILE.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned long sink;

KEPT static void spin(long rounds) {
    for (long i = 0; i < rounds; i++) // the loop that costs
        sink += (unsigned long)i * 7;
}

KEPT static long by_read(const char *path) {
    char line[64] = "";
    int file = open(path, O_RDONLY);
    if (file < 0 || read(file, line, sizeof line - 1) <= 0) // by read
        return 1;
    close(file);
    return strtol(line, NULL, 10);
}

KEPT static long by_fread(const char *path) {
    long number = 0;
    FILE *file = fopen(path, "r");
    if (!file || !fread(&number, 4, 1, file)) // by fread
        return 1;
    fclose(file);
    return number;
}

KEPT static long by_getc(const char *path) {
    FILE *file = fopen(path, "r");
    long number = file ? fgetc(file) : 0; // by getc
    if (file)
        fclose(file);
    return number * 100;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    for (int i = 2; i < argc; i++) {
        long rounds = !strcmp(argv[1], "read")    ? by_read(argv[i])
                      : !strcmp(argv[1], "fread") ? by_fread(argv[i])
                                                  : by_getc(argv[i]);
        spin(rounds);
    }
    return 0;
}
