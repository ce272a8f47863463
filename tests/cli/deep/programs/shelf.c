#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct book {
    struct book *next;
    int key;
};

struct shelf {
    struct book *first;
    long weight;
};

struct shelf shelf;
long searched;

__attribute__((noinline)) void put(int key) {
    struct book *book = malloc(sizeof *book);
    book->key = key;
    book->next = shelf.first;
    shelf.first = book;
    shelf.weight += 3;
}

__attribute__((noinline)) struct book *find(int key) {
    struct book *book = shelf.first;
    while (book && book->key != key) {
        searched++;
        book = book->next;
    }
    return book;
}

__attribute__((noinline)) int depth_of(int n) {
    return n <= 0 ? 0 : 1 + depth_of(n - 1);
}

__attribute__((noinline)) void take(void) {
    struct book *book = shelf.first;
    shelf.first = book->next;
    free(book);
}

int main(int count, char **words) {
    int books = count > 1 ? atoi(words[1]) : 20, searches = count > 2 ? atoi(words[2]) : 10, found = 0;
    const char *ending = count > 3 ? words[3] : "";
    for (int i = 0; i < books; i++)
        put(i);
    for (int i = 0; i < searches; i++)
        found += find(i % books) != NULL;
    found += depth_of(5);
    if (!strcmp(ending, "take"))
        take();
    if (!strcmp(ending, "illegal"))
#ifdef __aarch64__
        __asm__ volatile(".inst 0x25b8c000"); /* SVE */
#else
        __asm__ volatile(".byte 0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0"); /* AVX-512 */
#endif
    if (!strcmp(ending, "forever"))
        for (;;)
            found += find(found & 1) != NULL;
    printf("%d\n", found);
    return strcmp(ending, "fails") ? 0 : 3;
}
