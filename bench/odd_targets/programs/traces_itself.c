// Asks its parent to trace it, so that no debugger can: from then on every signal would stop it for good.
#include <sys/ptrace.h>

#include "work.h"

int main(void) {
    burn(0.05);
    MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    burn(0.3);
    printf("not stopped\n");
    return 14;
}
