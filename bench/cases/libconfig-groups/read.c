// Reads a file of settings, as a service does when it starts, and tells how many groups it has.
#include <libconfig.h>
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: read SETTINGS\n");
        return 2;
    }
    config_t settings;
    config_init(&settings);
    if (!config_read_file(&settings, argv[1])) {
        fprintf(stderr, "read: %s: %s\n", argv[1], config_error_text(&settings));
        return 1;
    }
    printf("%d groups\n", config_setting_length(config_root_setting(&settings)));
    config_destroy(&settings);
    return 0;
}
