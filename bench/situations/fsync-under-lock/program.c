// A threaded server: every line is a request. With "held" the journal is synced while the table is locked.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CELLS = 4096, SYNC_EVERY = 100 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t table[CELLS], handled;
static int journal, is_held;
static char page[1 << 20];

static void sync_journal(void) {
    for (int piece = 0; piece < 40; piece++) {
        if (pwrite(journal, page, sizeof page, (off_t)(piece % 6) * (off_t)sizeof page) < 0)
            abort();
        fdatasync(journal);
    }
}

static uint64_t look_up(uint64_t key) {
    uint64_t value = key;
    for (int step = 0; step < 3000; step++)
        value = value * 31 + table[value % CELLS];
    return value;
}

static uint64_t handle(uint64_t key) {
    pthread_mutex_lock(&table_lock);
    uint64_t value = look_up(key);
    table[key % CELLS] = value;
    int is_due = ++handled % SYNC_EVERY == 0;
    if (is_due && is_held)
        sync_journal();
    pthread_mutex_unlock(&table_lock);
    return value;
}

static void *serve(void *connection) {
    int socket = (int)(intptr_t)connection;
    char line[64];
    ssize_t got;
    while ((got = read(socket, line, sizeof line - 1)) > 0) {
        line[got] = 0;
        int length = snprintf(line, sizeof line, "%llu\n", (unsigned long long)handle(strtoull(line, NULL, 10)));
        if (write(socket, line, (size_t)length) < 0)
            break;
    }
    close(socket);
    return NULL;
}

int main(int count, char **words) {
    if (count < 4)
        return 2;
    is_held = !strcmp(words[2], "held");
    journal = open(words[3], O_CREAT | O_RDWR, 0600);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1]))};
    int listening = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (journal < 0 || bind(listening, (struct sockaddr *)&address, sizeof address) || listen(listening, 64))
        return 1;
    for (;;) {
        int connection = accept(listening, NULL, NULL);
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pthread_t thread;
        pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection);
        pthread_detach(thread);
    }
}
