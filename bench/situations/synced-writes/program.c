// Computes records and writes them to a file. With "synced" the file is opened with O_SYNC.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 500, BYTES = 8192 };

static uint64_t record[BYTES / sizeof(uint64_t)];

static __attribute__((noinline)) uint64_t fill_record(uint64_t number) {
    uint64_t value = number;
    for (int round = 0; round < 330; round++)
        for (size_t at = 0; at < BYTES / sizeof(uint64_t); at++) {
            value = value * 6364136223846793005u + 1442695040888963407u;
            record[at] = value;
        }
    return value;
}

static __attribute__((noinline)) int store_record(int file, int number) {
    return pwrite(file, record, sizeof record, (off_t)number * BYTES) == sizeof record;
}

int main(int count, char **words) {
    if (count < 3)
        return 2;
    int file = open(words[2], O_CREAT | O_TRUNC | O_WRONLY | (strcmp(words[1], "synced") ? 0 : O_SYNC), 0600);
    if (file < 0)
        return 1;
    uint64_t sum = 0;
    for (int number = 0; number < RECORDS; number++) {
        sum ^= fill_record((uint64_t)number);
        if (!store_record(file, number))
            return 1;
    }
    close(file);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
