// Looks up the hosts of a list, and weighs every one. Arguments: address and port of the name server.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS = 150 };

static void use_name_server(const char *address, const char *port) {
    res_init();
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, address, &server.sin_addr) != 1)
        exit(2);
    _res.nscount = 1;
    _res.nsaddr_list[0] = server;
    _res.options &= ~(unsigned long)(RES_DNSRCH | RES_DEFNAMES);
}

static __attribute__((noinline)) uint32_t resolve_host(int number) {
    char name[64];
    snprintf(name, sizeof name, "host%d.example.", number);
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    int failure = getaddrinfo(name, NULL, &hints, &found);
    if (failure) {
        fprintf(stderr, "%s: %s\n", name, gai_strerror(failure));
        exit(1);
    }
    uint32_t address = ((struct sockaddr_in *)(void *)found->ai_addr)->sin_addr.s_addr;
    freeaddrinfo(found);
    return address;
}

static __attribute__((noinline)) uint64_t weigh_host(uint32_t address) {
    uint64_t value = address;
    for (int step = 0; step < 1200000; step++)
        value = value * 6364136223846793005u + 1442695040888963407u;
    return value;
}

int main(int count, char **words) {
    if (count < 3)
        return 2;
    use_name_server(words[1], words[2]);
    uint64_t sum = 0;
    for (int number = 0; number < HOSTS; number++)
        sum += weigh_host(resolve_host(number));
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
