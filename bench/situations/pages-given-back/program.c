// Sums the pages of a mapped file, several times. With "drop" the pages are given back between two times.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGES = 2048, PAGE = 4096, PASSES = 10 };

static int open_file(const char *path) {
    static uint64_t page[PAGE / sizeof(uint64_t)];
    int file = open(path, O_CREAT | O_RDWR, 0600);
    struct stat now;
    if (file < 0 || fstat(file, &now))
        exit(1);
    if (now.st_size == (off_t)PAGES * PAGE)
        return file;
    for (int number = 0; number < PAGES; number++) {
        for (size_t at = 0; at < PAGE / sizeof(uint64_t); at++)
            page[at] = (uint64_t)number * at;
        if (pwrite(file, page, PAGE, (off_t)number * PAGE) != PAGE)
            exit(1);
    }
    fsync(file);
    return file;
}

static __attribute__((noinline)) uint64_t weigh(uint64_t value) {
    for (int step = 0; step < 8000; step++)
        value = value * 6364136223846793005u + 1442695040888963407u;
    return value;
}

static __attribute__((noinline)) uint64_t sum_pages(const volatile uint64_t *pages) {
    uint64_t sum = 0;
    for (unsigned step = 0; step < PAGES; step++) {
        unsigned number = step * 1021 % PAGES;  // every page once, far from the one before
        sum += weigh(pages[(size_t)number * (PAGE / sizeof(uint64_t)) + 1]);
    }
    return sum;
}

static __attribute__((noinline)) void give_back(int file, void *pages) {
    madvise(pages, (size_t)PAGES * PAGE, MADV_DONTNEED);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

int main(int count, char **words) {
    if (count < 3)
        return 2;
    int file = open_file(words[2]);
    void *pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED)
        return 1;
    madvise(pages, (size_t)PAGES * PAGE, MADV_RANDOM);
    uint64_t sum = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        if (pass && !strcmp(words[1], "drop"))
            give_back(file, pages);
        sum += sum_pages(pages);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
