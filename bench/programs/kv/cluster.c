// Which node of a cluster serves which slots.
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "kv.h"
#include "roll.h"

uint16_t slot_of(const char *key) {
    return (uint16_t)(crc_of(key, strlen(key)) % SLOTS);
}

static bool serves(const struct cluster_node *node, unsigned slot) {
    return node->slots[slot / 8] >> (slot % 8) & 1;
}

// Slots are dealt out in runs, as after a few reshardings.
void form_cluster(struct server *server, size_t nodes) {
    server->nodes = calloc(nodes, sizeof *server->nodes);
    if (!server->nodes) {
        abort();
    }
    server->node_count = nodes;
    for (size_t i = 0; i < nodes; i++) {
        struct cluster_node *node = &server->nodes[i];
        struct buffer text = {0};
        buffer_hex(&text, mix_of(&i, sizeof i, 1), 20);
        buffer_hex(&text, mix_of(&i, sizeof i, 2), 20);
        memcpy(node->name, text.bytes, 40);
        text.size = 0;
        buffer_text(&text, "10.0.");
        buffer_number(&text, i / 250);
        buffer_text(&text, ".");
        buffer_number(&text, i % 250 + 1);
        buffer_add(&text, "", 1);
        memcpy(node->address, text.bytes, text.size);
        node->linked = true;
        buffer_free(&text);
    }
    uint32_t state = 99;
    for (unsigned slot = 0; slot < SLOTS;) {
        struct cluster_node *node = &server->nodes[roll_below(&state, (uint32_t)nodes)];
        for (unsigned left = 1 + roll_below(&state, 200); left && slot < SLOTS; left--, slot++) {
            node->slots[slot / 8] |= (unsigned char)(1u << slot % 8);
        }
    }
}

static void add_range(struct buffer *out, unsigned first, unsigned last) {
    buffer_add(out, " ", 1);
    buffer_number(out, first);
    if (last != first) {
        buffer_add(out, "-", 1);
        buffer_number(out, last);
    }
}

// All slots are looked at for every node, though each slot belongs to one node only.
static inline void describe_slots(const struct cluster_node *node, struct buffer *out) {
    int first = -1;
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        bool mine = serves(node, slot);
        if (mine && first < 0) {
            first = (int)slot;
        }
        if (first >= 0 && (!mine || slot == SLOTS - 1)) {
            add_range(out, (unsigned)first, mine ? slot : slot - 1);
            first = -1;
        }
    }
}

void describe_nodes(const struct server *server, struct buffer *out) {
    for (size_t i = 0; i < server->node_count; i++) {
        const struct cluster_node *node = &server->nodes[i];
        buffer_add(out, node->name, 40);
        buffer_add(out, " ", 1);
        buffer_text(out, node->address);
        buffer_text(out, i == 0 ? ":6379 myself,master - " : ":6379 master - ");
        buffer_number(out, node->ping);
        buffer_add(out, " ", 1);
        buffer_number(out, node->pong);
        buffer_text(out, node->linked ? " connected" : " disconnected");
        describe_slots(node, out);
        buffer_add(out, "\n", 1);
    }
}
