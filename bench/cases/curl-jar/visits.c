// Visits to shops: each begins with the cookies of a jar, and ends with writing them.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

static void visit(const char *jar) {
    CURL *shop = curl_easy_init();
    if (!shop || curl_easy_setopt(shop, CURLOPT_COOKIEFILE, jar) != CURLE_OK ||
        curl_easy_setopt(shop, CURLOPT_COOKIEJAR, "/dev/null") != CURLE_OK ||
        curl_easy_setopt(shop, CURLOPT_COOKIELIST, "RELOAD") != CURLE_OK ||
        curl_easy_setopt(shop, CURLOPT_COOKIELIST, "FLUSH") != CURLE_OK) {
        fprintf(stderr, "visits: the jar is neither read nor written\n");
        exit(1);
    }
    curl_easy_cleanup(shop);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: visits JAR TIMES\n");
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    for (int times = atoi(argv[2]); times > 0; times--) {
        visit(argv[1]);
    }
    curl_global_cleanup();
    return 0;
}
