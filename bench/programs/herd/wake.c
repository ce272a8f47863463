// A graceful restart: workers that wait for a connection get one, see that they are to leave, and leave.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buffer.h"
#include "herd.h"
#include "message.h"

enum { ATTEMPTS = 1500 };

static bool connect_once(const struct slot *slot, const struct buffer *text) {
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = connect(connection, (const struct sockaddr *)&slot->address, slot->address_size) == 0;
    if (connected && send(connection, text->bytes, text->size, MSG_NOSIGNAL) < 0) {
        connected = false;
    }
    close(connection);
    return connected;
}

// Nobody may be listening yet: that is tried for a while.
static void wake_worker(struct scoreboard *board, const struct slot *slot) {
    struct buffer text = {0};
    bool woken = false;
    for (int attempt = 0; attempt < ATTEMPTS && !woken; attempt++) {
        text.size = 0;
        compose_request(&text, "localhost", board->generation, 64);
        woken = connect_once(slot, &text);
        board->refused += !woken;
    }
    buffer_free(&text);
    board->wakes += woken;
}

// Wakes the workers of all slots, whether or not there is still somebody in them.
void wake_all(struct scoreboard *board) {
    for (int i = 0; i < board->count; i++) {
        wake_worker(board, &board->slots[i]);
    }
}
