// Counts how often each of 600 weights occurs; argument 1 is by how much they differ.
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

enum { WEIGHTS = 600, ROUNDS = 3000 };

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    const double step = atof(argv[1]);
    static double weights[WEIGHTS];
    GHashTable *counts = g_hash_table_new(g_double_hash, g_double_equal);
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = i * step;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WEIGHTS; i++) {
            const long before = GPOINTER_TO_SIZE(g_hash_table_lookup(counts, &weights[i]));
            g_hash_table_insert(counts, &weights[i], GSIZE_TO_POINTER(before + 1));
        }
    }
    printf("%u\n", g_hash_table_size(counts));
    g_hash_table_destroy(counts);
    return 0;
}
