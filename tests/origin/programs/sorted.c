// Numbers in a tree that nobody balances: in order, they are one long branch.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *left, *right;
    unsigned number;
};

static struct node *root;

static void put(struct node **place, unsigned number) {
    *place = calloc(1, sizeof **place);
    (*place)->number = number;
}

__attribute__((noinline)) static struct node *match(struct node *tree, unsigned number) {
    while (tree->number != number) {
        struct node **next = number < tree->number ? &tree->left : &tree->right;
        if (!*next) {
            put(next, number);
            return NULL;
        }
        tree = *next; // one down
    }
    return tree;
}

__attribute__((noinline)) static struct node *recur(struct node *tree, unsigned number) {
    if (number < tree->number) {
        if (tree->left) // less
            return recur(tree->left, number);
        put(&tree->left, number);
        return NULL;
    }
    if (number > tree->number) {
        if (tree->right) // more
            return recur(tree->right, number);
        put(&tree->right, number);
        return NULL;
    }
    return tree;
}

int main(int count, char **words) {
    int is_sorted = count > 1 && !strcmp(words[1], "sorted");
    unsigned found = 0;
    for (unsigned i = 0; i < 3000; i++) {
        unsigned number = is_sorted ? i : i * 2654435761u;
        if (root)
            found += (count > 2 ? recur : match)(root, number) != NULL;
        else
            put(&root, number);
    }
    printf("%u\n", found);
    return 0;
}
