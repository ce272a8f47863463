// Answers of a server are read: they come in pieces of a given size, and each is taken as soon as it is whole.
#include <hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 12, LONGEST_REPLY = 2048 };

static size_t one_reply(char *text, unsigned number) {
    int length = sprintf(text, "*%d\r\n", FIELDS);
    for (unsigned field = 0; field < FIELDS; field++) {
        char value[128];
        const int size =
            snprintf(value, sizeof value, "visitor %u, field %u, %080u", number, field, number * 2654435761u);
        length += sprintf(text + length, "$%d\r\n%s\r\n", size, value);
    }
    return (size_t)length;
}

static size_t taken(const redisReply *reply) {
    size_t bytes = 0;
    for (size_t i = 0; i < reply->elements; i++) {
        for (size_t at = 0; at < reply->element[i]->len; at++) {
            bytes += reply->element[i]->str[at] == '7';
        }
    }
    return bytes;
}

static size_t read_in_pieces(const char *text, size_t length, size_t piece) {
    redisReader *reader = redisReaderCreate();
    size_t sum = 0;
    for (size_t at = 0; at < length; at += piece) {
        redisReaderFeed(reader, text + at, length - at < piece ? length - at : piece);
        void *reply = NULL;
        while (redisReaderGetReply(reader, &reply) == REDIS_OK && reply) {
            sum += taken(reply);
            freeReplyObject(reply);
        }
    }
    if (reader->err) {
        fprintf(stderr, "replies: %s\n", reader->errstr);
        exit(1);
    }
    redisReaderFree(reader);
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: replies COUNT PIECE ROUNDS\n");
        return 2;
    }
    const unsigned count = (unsigned)atoi(argv[1]);
    char *text = malloc((size_t)count * LONGEST_REPLY);
    size_t length = 0, sum = 0;
    for (unsigned number = 0; text && number < count; number++) {
        length += one_reply(text + length, number);
    }
    for (int round = 0; text && round < atoi(argv[3]); round++) {
        sum += read_in_pieces(text, length, (size_t)atol(argv[2]));
    }
    printf("%zu bytes, %zu\n", length, sum);
    free(text);
    return 0;
}
