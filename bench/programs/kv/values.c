// Strings, lists and sorted sets.
#include <stdlib.h>
#include <string.h>

#include "kv.h"
#include "roll.h"

static struct skip_node *new_node(int level, const char *member, double score) {
    struct skip_node *node = calloc(1, sizeof *node + (size_t)level * sizeof *node->levels);
    if (!node || !(node->member = strdup(member))) {
        abort();
    }
    node->score = score;
    return node;
}

struct value *value_at(struct server *server, const char *key, enum kind kind, bool make) {
    struct value *value = lookup_find(&server->keys, key);
    if (value || !make) {
        return value;
    }
    value = calloc(1, sizeof *value);
    if (!value) {
        abort();
    }
    value->kind = kind;
    if (kind == KIND_SORTED) {
        value->sorted = (struct sorted){new_node(SKIP_LEVELS, "", 0), 0, 1, 12345};
    }
    *lookup_slot(&server->keys, key) = value;
    return value;
}

void list_push(struct list *list, const char *bytes, size_t size) {
    struct item *item = malloc(sizeof *item + size);
    if (!item) {
        abort();
    }
    memcpy(item->bytes, bytes, size);
    item->size = size;
    item->previous = list->tail;
    item->next = NULL;
    *(list->tail ? &list->tail->next : &list->head) = item;
    list->tail = item;
    list->length++;
}

struct item *list_pop(struct list *list) {
    struct item *item = list->head;
    if (item) {
        list->head = item->next;
        *(item->next ? &item->next->previous : &list->tail) = NULL;
        list->length--;
    }
    return item;
}

static bool comes_before(const struct skip_node *node, const char *member, double score) {
    return node->score < score || (node->score == score && strcmp(node->member, member) < 0);
}

void sorted_add(struct sorted *sorted, const char *member, double score) {
    struct skip_node *before[SKIP_LEVELS], *node = sorted->head;
    size_t rank[SKIP_LEVELS];
    for (int level = SKIP_LEVELS - 1; level >= 0; level--) {
        rank[level] = level == SKIP_LEVELS - 1 ? 0 : rank[level + 1];
        while (node->levels[level].next && comes_before(node->levels[level].next, member, score)) {
            rank[level] += node->levels[level].span;
            node = node->levels[level].next;
        }
        before[level] = node;
    }
    int height = 1;
    while (height < SKIP_LEVELS && roll_below(&sorted->dice, 4) == 0) {
        height++;
    }
    struct skip_node *added = new_node(height, member, score);
    for (int level = 0; level < SKIP_LEVELS; level++) {
        if (level >= height) {
            before[level]->levels[level].span++;
            continue;
        }
        added->levels[level].next = before[level]->levels[level].next;
        added->levels[level].span = before[level]->levels[level].span - (rank[0] - rank[level]);
        before[level]->levels[level].next = added;
        before[level]->levels[level].span = rank[0] - rank[level] + 1;
    }
    sorted->level = height > sorted->level ? height : sorted->level;
    sorted->length++;
}

const struct skip_node *sorted_at(const struct sorted *sorted, size_t rank) {
    const struct skip_node *node = sorted->head;
    size_t passed = 0;
    for (int level = sorted->level - 1; level >= 0; level--) {
        while (node->levels[level].next && passed + node->levels[level].span <= rank + 1) {
            passed += node->levels[level].span;
            node = node->levels[level].next;
        }
    }
    return passed == rank + 1 ? node : NULL;
}
