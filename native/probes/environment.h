// Variables of the environment that a constructor is given: libc itself is initialised after us.
#ifndef WHYPERF_PROBES_ENVIRONMENT_H
#define WHYPERF_PROBES_ENVIRONMENT_H

#include <stddef.h>
#include <string.h>

// `variable` ends in '='. NULL: it is not set.
static inline const char *environment_value(char **environment, const char *variable) {
    for (; environment && *environment; environment++)
        if (!strncmp(*environment, variable, strlen(variable)))
            return *environment + strlen(variable);
    return NULL;
}

#endif
