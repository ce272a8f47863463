/* Keeps the index of chunks of some repositories while backups are made and old ones pruned: chunks come and go. */
#include <_hashindex.c>
#include <stdint.h>

enum { KEY = 32 };

static void name_chunk(uint64_t number, unsigned char *key) {
    for (int i = 0; i < KEY; i += 8) {
        number = number * 6364136223846793005ul + 1442695040888963407ul;
        uint64_t mixed = (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9ul;
        memcpy(key + i, &mixed, 8);
    }
}

static unsigned keep_index(uint64_t repository, uint32_t kept, uint32_t made) {
    unsigned known = 0;
    HashIndex *index = hashindex_init((int)kept, KEY, sizeof(uint32_t));
    for (uint32_t i = 0; index && i < made; i++) {
        unsigned char key[KEY];
        name_chunk(repository << 32 | i, key);
        known += hashindex_get(index, key) != NULL;
        if (!hashindex_set(index, key, &i))
            exit(1);
        name_chunk(repository << 32 | i / 2, key);
        known += hashindex_get(index, key) != NULL;
        if (i >= kept) {
            name_chunk(repository << 32 | (i - kept), key);
            if (hashindex_delete(index, key) != 1)
                exit(1);
        }
    }
    hashindex_free(index);
    return known;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: chunks REPOSITORIES KEPT NEW\n");
        return 2;
    }
    unsigned known = 0;
    for (int i = 0; i < atoi(argv[1]); i++)
        known += keep_index((uint64_t)i, (uint32_t)atol(argv[2]), (uint32_t)atol(argv[3]));
    printf("%u\n", known);
    return 0;
}
