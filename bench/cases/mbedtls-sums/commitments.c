/* Adds up commitments, points of a curve: what several parties have pledged. */
#include <mbedtls/ecp.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int status) {
    if (status) {
        fprintf(stderr, "commitments: error %d\n", status);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: commitments PARTIES ROUNDS\n");
        return 2;
    }
    int parties = atoi(argv[1]), rounds = atoi(argv[2]);
    mbedtls_ecp_group group;
    mbedtls_ecp_point total, *pledged = malloc(sizeof *pledged * (size_t)parties);
    mbedtls_mpi one, secret;
    if (!pledged)
        return 1;
    mbedtls_ecp_group_init(&group);
    mbedtls_ecp_point_init(&total);
    mbedtls_mpi_init(&one);
    mbedtls_mpi_init(&secret);
    check(mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1));
    check(mbedtls_mpi_lset(&one, 1));
    for (int i = 0; i < parties; i++) {
        mbedtls_ecp_point_init(&pledged[i]);
        check(mbedtls_mpi_lset(&secret, 1000003 * (i + 2)));
        check(mbedtls_mpi_mul_mpi(&secret, &secret, &group.G.X));
        check(mbedtls_mpi_mod_mpi(&secret, &secret, &group.N));
        check(mbedtls_ecp_mul(&group, &pledged[i], &secret, &group.G, NULL, NULL));
    }
    check(mbedtls_ecp_copy(&total, &group.G));
    for (int i = 0; i < rounds * parties; i++)
        check(mbedtls_ecp_muladd(&group, &total, &one, &total, &one, &pledged[i % parties]));
    char text[80];
    size_t length;
    check(mbedtls_mpi_write_string(&total.X, 16, text, sizeof text, &length));
    printf("%s\n", text);
    return 0;
}
