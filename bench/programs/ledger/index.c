// An ordered index: a treap whose priorities come from the key's hash, so that its shape depends on nothing else.
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

struct index_node {
    struct index_node *left, *right;
    uint64_t priority;
    uint32_t page, slot;
    char key[KEY_BYTES];
};

static struct index_node *new_node(const char *key, uint32_t page, uint32_t slot) {
    struct index_node *node = calloc(1, sizeof *node);
    if (!node) {
        abort();
    }
    memcpy(node->key, key, KEY_BYTES);
    node->priority = hash_bytes(key, KEY_BYTES);
    node->page = page;
    node->slot = slot;
    return node;
}

static struct index_node *rotate_right(struct index_node *node) {
    struct index_node *top = node->left;
    node->left = top->right;
    top->right = node;
    return top;
}

static struct index_node *rotate_left(struct index_node *node) {
    struct index_node *top = node->right;
    node->right = top->left;
    top->left = node;
    return top;
}

struct index_node *index_insert(struct index_node *root, const char *key, uint32_t page, uint32_t slot) {
    if (!root) {
        return new_node(key, page, slot);
    }
    int order = compare_keys(key, root->key);
    if (order == 0) {
        root->page = page;
        root->slot = slot;
    } else if (order < 0) {
        root->left = index_insert(root->left, key, page, slot);
        if (root->left->priority > root->priority) {
            return rotate_right(root);
        }
    } else {
        root->right = index_insert(root->right, key, page, slot);
        if (root->right->priority > root->priority) {
            return rotate_left(root);
        }
    }
    return root;
}

bool index_find(const struct index_node *root, const char *key, uint32_t *page, uint32_t *slot) {
    while (root) {
        int order = compare_keys(key, root->key);
        if (order == 0) {
            *page = root->page;
            *slot = root->slot;
            return true;
        }
        root = order < 0 ? root->left : root->right;
    }
    return false;
}

void index_walk(const struct index_node *root, void (*visit)(const char *key, uint32_t page, uint32_t slot, void *),
                void *to) {
    if (root) {
        index_walk(root->left, visit, to);
        visit(root->key, root->page, root->slot, to);
        index_walk(root->right, visit, to);
    }
}

void index_free(struct index_node *root) {
    if (root) {
        index_free(root->left);
        index_free(root->right);
        free(root);
    }
}
